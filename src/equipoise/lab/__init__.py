"""The lab: attack a corpus on paper, and compare defences on equal terms.

Works on files that you own. The online path (Balancer, server, adapters) never imports it.
"""
