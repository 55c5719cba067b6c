// Creates the database that a later version has to open: `node test/upgrade/create.ts VERSION`.
// Run at a release, and until the first one whenever the schema changes.
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startService } from "../wire/service.ts";

const [version = "0.1.0"] = process.argv.slice(2);
const TOKEN = "upgrade-test-token-0123456789abcdefghij";
const folder = mkdtempSync(join(tmpdir(), "mooring-upgrade-"));

const service = await startService({
  folder,
  version: `v${version}`,
  env: { MOORING_SECRET_KEY: "0f".repeat(32), MOORING_ADMIN_TOKEN: TOKEN },
});
const saves = [
  [
    { key: "site_title", value: "Harbour" },
    { key: "default_page_size", value: "50" },
  ],
  [{ key: "my_own_setting", value: "kept", type: "string", flag: 1 }],
  [{ key: "ldap_manager_password", value: "a-password-of-somebody" }],
  [{ key: "site_title", value: "Haven" }],
];
for (const settings of saves) {
  const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/setting/save`, {
    method: "POST",
    headers: { authorization: TOKEN, "content-type": "application/json" },
    body: JSON.stringify(settings),
  });
  const { code, message } = (await reply.json()) as { code: number; message: string };
  if (code !== 200) throw new Error(`the save was refused: ${message}`);
}
// Ends the process's connections, so that the file holds everything.
await service.stop();
copyFileSync(join(folder, "mooring.db"), join(import.meta.dirname, "database", `${version}.db`));
rmSync(folder, { recursive: true });
