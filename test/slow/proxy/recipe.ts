import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProxyPlace } from "./proxy.ts";

/** Configures a proxy by a file of packaging/ for the addresses of a test. @returns its arguments. */
export type Recipe = (file: string, place: ProxyPlace) => readonly string[];

/** The addresses of a recipe's upstreams, replaced by those of a test. */
function withUpstreams(file: string, { service, server = service }: ProxyPlace): string {
  return readFileSync(join("packaging", file), "utf8")
    .replaceAll("127.0.0.1:5244", `127.0.0.1:${service}`)
    .replaceAll("127.0.0.1:5245", `127.0.0.1:${server}`);
}

export const nginx: Recipe = (file, place) => {
  const { port, folder, key, certificate } = place;
  const server = withUpstreams(file, place)
    .replace("listen 443", `listen 127.0.0.1:${port}`)
    .replace(/\/etc\/ssl\/\w+\.example\.pem/, certificate)
    .replace(/\/etc\/ssl\/\w+\.example\.key/, key)
    .replace(/server_name \w+\.example/, "server_name localhost");
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join("\n");
  const user = process.getuid?.() === 0 ? "user root;\n" : "";
  const global = `daemon off;\n${user}worker_processes 1;\npid ${folder}/nginx.pid;\nevents {}\n`;
  const written = join(folder, "nginx.conf");
  writeFileSync(written, `${global}http {\naccess_log off;\n${paths}\n${server}\n}\n`);
  return ["-p", folder, "-c", written, "-e", join(folder, "error.log")];
};

export const caddy: Recipe = (file, place) => {
  const { port, folder, key, certificate } = place;
  const site = withUpstreams(file, place).replace(
    /^\w+\.example \{/m,
    `https://localhost:${port} {\n\ttls ${certificate} ${key}`,
  );
  const written = join(folder, "Caddyfile");
  // Its own admin interface and storage are off in tests.
  const storage = `storage file_system ${folder}`;
  writeFileSync(
    written,
    `{\n\tadmin off\n\tauto_https disable_redirects\n\t${storage}\n}\n${site}`,
  );
  return ["run", "--config", written, "--adapter", "caddyfile"];
};
