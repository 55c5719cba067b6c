import { pbkdf2Sync, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../bench/port.ts";
import { type Program, startProgram } from "./program.ts";

/** A real qBittorrent on 127.0.0.1. */
export interface QbittorrentNox extends Program {
  readonly port: number;
  /** Address of its Web UI, with user name and password if they are set. */
  url(login?: { readonly user: string; readonly password: string }): string;
}

/** Options of qBittorrent. */
export interface QbittorrentNoxOptions {
  /** User name of the Web UI; default: `admin`. */
  readonly user?: string;
  /** Password of the Web UI; default: `adminadmin`. */
  readonly password?: string;
  /** Whether this machine needs no login; default: it needs one. */
  readonly bypass?: boolean;
  /** Failed logins in a row after which this machine is banned; default: 5. */
  readonly maxFailures?: number;
  /** Accepted host names; default: all. */
  readonly serverDomains?: string;
}

/**
 * Starts qbittorrent-nox with its Web UI on a free port of 127.0.0.1 and a profile of its own,
 * without connections to other machines.
 */
export async function startQbittorrentNox(
  options: QbittorrentNoxOptions = {},
): Promise<QbittorrentNox> {
  const program = await startProgram({
    command: "qbittorrent-nox",
    prepare: async (port, folder) => {
      const config = join(folder, "qBittorrent", "config");
      await mkdir(config, { recursive: true });
      await writeFile(join(config, "qBittorrent.conf"), configuration(options, await freePort()));
      return [`--profile=${folder}`, `--webui-port=${port}`];
    },
    isReady: async (port) =>
      (await fetch(`http://127.0.0.1:${port}/api/v2/app/version`)).status > 0,
  });
  return { ...program, url: (login) => webUi(program.port, login) };
}

function webUi(port: number, login?: { user: string; password: string }): string {
  const { user = "", password = "" } = login ?? {};
  const userinfo = `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  return `http://${login === undefined ? "" : userinfo}127.0.0.1:${port}/`;
}

function configuration(options: QbittorrentNoxOptions, torrentPort: number): string {
  const { user = "admin", password = "adminadmin", bypass = false, maxFailures = 5 } = options;
  const { serverDomains = "*" } = options;
  return [
    "[LegalNotice]",
    "Accepted=true",
    "[BitTorrent]",
    `Session\\Port=${torrentPort}`,
    "Session\\InterfaceAddress=127.0.0.1",
    "Session\\DHTEnabled=false",
    "Session\\LSDEnabled=false",
    "Session\\PeXEnabled=false",
    "[Network]",
    "PortForwardingEnabled=false",
    "[Preferences]",
    "Connection\\ResolvePeerCountries=false",
    "WebUI\\Address=127.0.0.1",
    "WebUI\\UseUPnP=false",
    `WebUI\\Username=${user}`,
    `WebUI\\ServerDomains=${serverDomains}`,
    `WebUI\\LocalHostAuth=${!bypass}`,
    `WebUI\\MaxAuthenticationFailCount=${maxFailures}`,
    `WebUI\\Password_PBKDF2="@ByteArray(${passwordHash(password)})"`,
    "",
  ].join("\n");
}

// PBKDF2 with HMAC-SHA-512, 100,000 rounds, the stored form since 4.2.
function passwordHash(password: string): string {
  const salt = randomBytes(16);
  const key = pbkdf2Sync(password, salt, 100_000, 64, "sha512");
  return `${salt.toString("base64")}:${key.toString("base64")}`;
}
