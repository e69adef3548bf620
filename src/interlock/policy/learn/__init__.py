"""What finished runs teach: looked back at, and turned into what the policy should say."""
