import { IMPORT_ALL } from "../../archive/import-options.ts";

export const PASSPHRASE = "passphrase of the loop";
/** Folder of the backups below that of the database. */
export const BACKUPS = "backups";
/** Number of mounts, all of one version. */
export const MOUNTS = 40;

export const ORIGIN = { actor: "loop", transport: "", method: "", requestId: "", peer: "" };

export const CHOICES = { ...IMPORT_ALL, replaceSecrets: true };

/** Numbers of the other entries. */
export const RULES = 20;
export const WEBHOOKS = 3;
export const PRINCIPALS = 5;

/** User of the server, who is lost before some restores. */
export const USER = {
  username: "bob",
  base_path: "/films",
  permission: 3,
  disabled: true,
};

export const VERSIONS = ["alpha", "bravo"] as const;
type Version = (typeof VERSIONS)[number];

/** Server of the site `home`. */
export interface HomeServer {
  readonly url: string;
  readonly token: string;
}

/**
 * A whole site of one version: all values of its entries are those of the version. Its site `home` is
 * a server that runs, and `away` one that does not.
 */
export function documentOf(version: Version, home: HomeServer) {
  const site = { mode: "observe", exclude: [], include: [`${version}_*`] };
  return {
    format: "mooring-archive",
    version: 1,
    sites: [
      {
        ...site,
        name: "home",
        url: home.url,
        paused: false,
        overrides: { site_title: version },
        secrets: { token: home.token },
      },
      {
        ...site,
        name: "away",
        url: "http://127.0.0.1:9/away",
        paused: true,
        overrides: { site_title: version },
        secrets: { token: `token-${version}`, "overrides/aria2_secret": `secret-${version}` },
      },
    ],
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
    rules: Array.from({ length: RULES }, (_, at) => ({
      name: `/mount-${at}/folder`,
      readme: version,
      read_users: [USER.username],
      sites: "all",
      secrets: { password: `password-${version}` },
    })),
    webhooks: Array.from({ length: WEBHOOKS }, (_, at) => ({
      name: `hook-${at}`,
      format: "template",
      target: "https://hooks.example",
      template: `{"version":"${version}"}`,
      contentType: "application/json",
      method: "POST",
      classes: [],
      withoutUnknown: true,
      sites: ["away"],
      language: "en",
      disabled: true,
      secrets: { url: `https://hooks.example/${version}`, "header:X-Key": `key-${version}` },
    })),
    principals: Array.from({ length: PRINCIPALS }, (_, at) => ({
      name: `person-${at}`,
      kind: "person",
      tokens: [0, 1].map((token) => ({
        id: `${token}`.padEnd(11, "A") + at,
        scopes: ["settings:read"],
        limits: [],
        comment: "",
      })),
      secrets: Object.fromEntries(
        [0, 1].map((token) => [`tokens/${`${token}`.padEnd(11, "A")}${at}`, `${at}`.repeat(43)]),
      ),
    })),
  };
}
