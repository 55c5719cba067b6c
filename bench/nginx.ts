import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Lab } from "./lab.ts";
import { type Mooring, startMooring } from "./mooring.ts";
import { accepts, freePort, until } from "./port.ts";
import { SERVER_CORE } from "./stage.ts";
import type { Started } from "./yardstick.ts";

/** Folder in memory, so that the disk has no part in a transfer. */
const MEMORY = "/dev/shm";
/** Path of a reply of some hundred bytes. */
export const SMALL = "/small.json";

/** nginx with files of its own, and Mooring in front of it. */
export interface Fronted {
  readonly nginx: Started;
  readonly mooring: Mooring;
  /** The file behind the path `/large`. */
  readonly large: string;
}

/**
 * Starts nginx, as one process, and Mooring with it as the server behind.
 *
 * @param cores processors of both; default: the servers' core.
 * @param bytes size of the file `/large`; default: none.
 */
export async function startFronted(
  lab: Lab,
  { cores = SERVER_CORE, bytes = 0 } = {},
): Promise<Fronted> {
  const folder = existsSync(MEMORY) ? lab.stage.folder(MEMORY) : lab.stage.folder();
  const large = join(folder, "large");
  writeFileSync(large, Buffer.alloc(bytes, "mooring "));
  const nginx = await startNginx(lab, cores, folder);
  const environment = { MOORING_UPSTREAM: `http://127.0.0.1:${nginx.port}` };
  return { nginx, mooring: await startMooring(lab, { cores, environment }), large };
}

async function startNginx({ stage }: Lab, cores: string, folder: string): Promise<Started> {
  const port = await freePort();
  writeFileSync(join(folder, SMALL), JSON.stringify({ code: 200, data: "x".repeat(400) }));
  const file = join(folder, "nginx.conf");
  writeFileSync(file, configurationOf(port, folder));
  const args = ["-c", file, "-p", folder, "-e", "stderr"];
  const server = stage.start({ program: "nginx", args, cores });
  await until(
    () => {
      server.assertAlive();
      return accepts(port);
    },
    () => `nginx does not listen:\n${server.tail()}`,
  );
  return { server, port };
}

function configurationOf(port: number, folder: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(" ");
  return `
    daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;
    events { worker_connections 512; }
    http {
      access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; ${temporary}
      client_max_body_size 0;
      server {
        listen 127.0.0.1:${port}; root ${folder};
        location /upload/ { dav_methods PUT; create_full_put_path on; }
      }
    }`;
}
