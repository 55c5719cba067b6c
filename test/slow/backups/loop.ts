export const PASSPHRASE = "passphrase of the loop";
/** Folder of the backups below that of the database. */
export const BACKUPS = "backups";
/** Number of mounts, all of one version. */
export const MOUNTS = 40;

export const ORIGIN = { actor: "loop", transport: "", method: "", requestId: "", peer: "" };

export const CHOICES = {
  passphrase: "",
  only: [],
  dryRun: false,
  skipInvalid: false,
  includeServerOwn: false,
  allowShared: false,
  siteNames: new Map<string, string>(),
  sites: undefined,
  pauseSites: false,
};

/** A whole site of one version: its settings and mounts have the version as values. */
export function documentOf(version: "a" | "b") {
  return {
    format: "mooring-archive",
    version: 1,
    settings: [
      { key: "site_title", value: version },
      { key: "announcement", value: version },
      { key: "aria2_secret", secrets: { value: `secret-${version}` } },
    ],
    mounts: Array.from({ length: MOUNTS }, (_, at) => ({
      name: `mount-${at}`,
      path: `/mount-${at}`,
      driver: "WebDav",
      disabled: false,
      content: "adopt",
      sites: "all",
      config: { address: `https://${version}.example/${at}` },
      members: { remark: version },
      secrets: { "config/password": `password-${version}` },
    })),
  };
}
