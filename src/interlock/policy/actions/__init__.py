"""May it do this? Commands, tool calls and edits, judged by gates."""
