"""Install, uninstall and examine: Interlock in the settings of agent clients."""
