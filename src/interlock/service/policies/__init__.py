"""Which policy counts where, and the rules and tables that come with Interlock."""
