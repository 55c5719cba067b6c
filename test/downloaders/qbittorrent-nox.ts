import { pbkdf2Sync, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort, type Program, startProgram } from "./program.ts";

/** A real qBittorrent on 127.0.0.1. */
export interface QbittorrentNox extends Program {
  readonly port: number;
  /** The address of its Web UI, with a user name and password in it where they are given. */
  url(login?: { readonly user: string; readonly password: string }): string;
}

/** How a qBittorrent is started. */
export interface QbittorrentNoxOptions {
  /** User name of its Web UI, `admin` by default. */
  readonly user?: string;
  /** Password of its Web UI, `adminadmin` by default. */
  readonly password?: string;
  /** Whether this machine needs no login; it does by default. */
  readonly bypass?: boolean;
  /** After so many failed logins in a row it bans this machine; 5 by default. */
  readonly maxFailures?: number;
  /** Host names that it may be reached by; all by default. */
  readonly serverDomains?: string;
}

/**
 * Starts qbittorrent-nox with its Web UI on a free port of 127.0.0.1 and a profile of its own, and
 * with nothing that reaches other machines.
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

// PBKDF2 with HMAC-SHA-512, 100,000 rounds, as qBittorrent has stored it since 4.2.
function passwordHash(password: string): string {
  const salt = randomBytes(16);
  const key = pbkdf2Sync(password, salt, 100_000, 64, "sha512");
  return `${salt.toString("base64")}:${key.toString("base64")}`;
}
