"""equipoise inside other frameworks: one module a host, each behind its own extra.

`equipoise.integrations.langchain` (compressor, retriever), `.langchain_agents` (middleware) and
`.llama_index`. Haystack loads saved pipelines from `haystack_integrations.*` only, so its ranker is
`haystack_integrations.components.rankers.equipoise`.

Importing this package loads no host.
"""
