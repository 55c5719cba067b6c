import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeProxy } from "./proxy.ts";

const conf = readFileSync("packaging/caddy/Caddyfile", "utf8");

describeProxy({
  command: "caddy",
  // The page's configuration, at an address of the test, with a given certificate.
  prepare: ({ port, service, folder, key, certificate }) => {
    const site = conf
      .replace("settings.example {", `https://localhost:${port} {\n\ttls ${certificate} ${key}`)
      .replaceAll("127.0.0.1:5244", `127.0.0.1:${service}`);
    const file = join(folder, "Caddyfile");
    // Its own admin interface and storage are off in tests.
    const storage = `storage file_system ${folder}`;
    writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n\t${storage}\n}\n${site}`);
    return ["run", "--config", file, "--adapter", "caddyfile"];
  },
});
