"""What tools do, by the words in their names: tables for `nature`.

A tool that no table names may do anything, so that nothing here has to be complete.
"""

from __future__ import annotations

from typing import Final

DESTROYING_WORDS: Final = frozenset(
    "delete remove destroy drop purge wipe erase truncate uninstall rm rmdir".split()
)
"""Anywhere in a name."""

NETWORK_WORDS: Final = frozenset(
    """
    web webfetch websearch fetch http https url urls internet online curl wget download upload
    browser browse navigate crawl scrape playwright puppeteer selenium chrome firecrawl tavily
    exa perplexity brave duckduckgo
    email mail gmail outlook slack discord telegram twilio sendgrid teams
    github gitlab bitbucket jira linear notion confluence asana trello sentry stripe
    aws azure gcp gcloud s3 kubernetes kubectl cloudflare vercel netlify supabase
    send publish deploy push pull clone notify
    """.split()
)
"""Anywhere in a name."""

READING_VERBS: Final = frozenset(
    """
    read list ls get search find grep rg glob view show cat head tail stat tree look lookup describe
    count inspect explain summarize think ask
    """.split()
)
"""What a name begins with, and what stands behind an `and` or `or` in it."""

READING_TOOLS: Final = frozenset(
    """
    notebook_read todo_write todo_read todowrite todoread bash_output task_output tool_search
    codebase_search code_search file_search semantic_search symbol_search directory_tree
    file_read fs_read fs_search update_plan exit_plan_mode enter_plan_mode attempt_completion
    finish submit complete done final_answer diagnostics wait sleep
    """.split()
)
"""Whole names, with `_` between their words: they read, plan, ask a person or come to an end."""

JOINING_WORDS: Final = frozenset(("and", "or", "then"))

VIEWING_CALLS: Final = {
    "str_replace_editor": ("command", "view"),
    "str_replace_based_edit_tool": ("command", "view"),
}
"""Tools that can do several things, with the parameter and the value by which they only read."""
