"""equipoise inside other frameworks: one module a host, each behind its own extra.

`equipoise.integrations.langchain` (compressor, retriever), `.langchain_agents` (middleware),
`.llama_index` and `.mcp` (a tool for agents). Haystack loads saved pipelines from
`haystack_integrations.*` only, so its ranker is
`haystack_integrations.components.rankers.equipoise`.

Importing this package loads no host.
"""
