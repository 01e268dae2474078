"""Run trials of subjects that are not Souk's: agents of others through BrowserGym, guests of the proxy."""
