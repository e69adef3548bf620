"""What questions read and write: runs, budgets, approvals, holds, reviews, edits."""
