import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Contest, Load, Side } from "../contest.ts";
import type { Lab } from "../experiment.ts";
import { type Mooring, startMooring } from "../mooring.ts";
import { freePort } from "../port.ts";
import { LOAD_CORE, SERVER_CORE } from "../stage.ts";
import { type Started, untilListening } from "../yardstick.ts";
import { wrkSide } from "./read.ts";

/** Path of a reply of some hundred bytes. */
const SMALL = "/small.json";
/** Size of a long transfer. */
const MEGABYTES = 200;
const CORES = `${SERVER_CORE},${LOAD_CORE}`;
/** Folder in memory, so that transfers are independent of the disk. */
const MEMORY = "/dev/shm";

/** A small request forwarded to the upstream, against the same request sent directly. */
export const frontRequest: Contest = {
  name: "front",
  title: `GET ${SMALL} of nginx, directly and through Mooring in front of it`,
  load: "wrk, 32 keep-alive connections, HTTP/1.1; CPU time of Mooring or of nginx",
  needs: ["wrk", "nginx"],
  comparisons: [{ of: "through Mooring", measure: "cpuPerRequest", target: { atMost: 100 } }],
  open: async (lab) => {
    const { nginx, mooring } = await startFronted(lab, SERVER_CORE);
    const sideOf = async (name: string, { server, port }: Started): Promise<Side> =>
      (await wrkSide(lab, name, server, { port, path: SMALL }))[0];
    return [await sideOf("through Mooring", mooring), await sideOf("nginx", nginx)];
  },
};

export const frontDownload = transfers("download");
export const frontUpload = transfers("upload");

/** Long transfers through Mooring against the same ones sent directly. */
function transfers(direction: "download" | "upload"): Contest {
  return {
    name: `front-${direction}`,
    title: `${MEGABYTES} MB ${direction === "download" ? "from" : "to"} nginx, directly and through Mooring in front of it`,
    load: "curl, one transfer at a time, counted in MB; all programs share two cores",
    needs: ["nginx", "curl"],
    comparisons: [
      {
        of: "through Mooring",
        against: "nginx",
        measure: "perSecond",
        target: { atLeast: 0.6 },
      },
    ],
    open: async (lab) => {
      const { nginx, mooring, folder } = await startFronted(lab, CORES);
      const large = join(folder, "large");
      writeFileSync(large, Buffer.alloc(MEGABYTES * 1e6, "mooring "));
      const argumentsOf = (port: number): string[] => {
        const at = `http://127.0.0.1:${port}`;
        // Without `Expect`, which delays a body by a round trip.
        return direction === "download"
          ? [`${at}/large`]
          : ["-H", "Expect:", "-T", large, `${at}/upload/large`];
      };
      return [
        {
          name: "through Mooring",
          server: mooring.server,
          load: curlLoad(lab, argumentsOf(mooring.port)),
        },
        { name: "nginx", server: nginx.server, load: curlLoad(lab, argumentsOf(nginx.port)) },
      ];
    },
  };
}

/** Repeats a transfer. */
function curlLoad({ stage }: Lab, job: readonly string[]): Load {
  const form = "%{http_code} %{size_download} %{size_upload} %{time_total}";
  const args = ["-s", "-S", "--http1.1", "-o", "/dev/null", "-w", form, ...job];
  return async (time) => {
    let [requests, seconds] = [0, 0];
    while (seconds < time) {
      const output = await stage.run({ program: "curl", args, cores: CORES });
      const [status = 0, down = 0, up = 0, taken = 0] = output.split(" ").map(Number);
      if (status >= 300 || Math.max(down, up) !== MEGABYTES * 1e6)
        throw new Error(`a transfer ended with status ${status} after ${down} and ${up} bytes`);
      requests += MEGABYTES;
      seconds += taken;
    }
    return { requests, seconds };
  };
}

/** nginx with its files, and Mooring in front of it. */
interface Fronted {
  readonly nginx: Started;
  readonly mooring: Mooring;
  /** Folder with the files. */
  readonly folder: string;
}

/** Starts nginx, as one process, and Mooring with it as the upstream. @param cores of both. */
async function startFronted(lab: Lab, cores: string): Promise<Fronted> {
  const folder = existsSync(MEMORY) ? lab.stage.folder(MEMORY) : lab.stage.folder();
  const nginx = await startNginx(lab, cores, folder);
  const environment = { MOORING_UPSTREAM: `http://127.0.0.1:${nginx.port}` };
  return { nginx, mooring: await startMooring(lab, { cores, environment }), folder };
}

async function startNginx({ stage }: Lab, cores: string, folder: string): Promise<Started> {
  const port = await freePort();
  writeFileSync(join(folder, SMALL), JSON.stringify({ code: 200, data: "x".repeat(400) }));
  const file = join(folder, "nginx.conf");
  writeFileSync(file, configurationOf(port, folder));
  const args = ["-c", file, "-p", folder, "-e", "stderr"];
  const server = stage.start({ program: "nginx", args, cores });
  await untilListening(server, port, "nginx");
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
