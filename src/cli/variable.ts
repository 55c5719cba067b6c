/**
 * Variables that the commands read. The service itself neither reads them nor complains of them.
 * This file imports nothing, so that a start of the service may read it.
 */
export const cliVariables = [
  "MOORING_ADDRESS",
  "MOORING_TOKEN",
  "MOORING_TOKEN_FILE",
  "MOORING_PASSPHRASE",
] as const;
