import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeProxy } from "./proxy.ts";

const conf = readFileSync("packaging/nginx/mooring.conf", "utf8");

describeProxy({
  command: "nginx",
  // The page's configuration, at an address of the test.
  prepare: ({ port, service, folder, key, certificate }) => {
    const server = conf
      .replace("listen 443", `listen 127.0.0.1:${port}`)
      .replaceAll("127.0.0.1:5244", `127.0.0.1:${service}`)
      .replace("/etc/ssl/settings.example.pem", certificate)
      .replace("/etc/ssl/settings.example.key", key)
      .replace("settings.example", "localhost");
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join("\n");
    const global = `daemon off;\nuser root;\nworker_processes 1;\npid ${folder}/nginx.pid;\nevents {}\n`;
    const file = join(folder, "nginx.conf");
    writeFileSync(file, `${global}http {\naccess_log off;\n${paths}\n${server}\n}\n`);
    return ["-p", folder, "-c", file, "-e", join(folder, "error.log")];
  },
});
