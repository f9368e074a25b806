"""The promises of the contract, one file a letter; each test names the ids that it proves."""
