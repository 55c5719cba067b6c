// A process that makes backups and restores them until it is killed: `node loop-process.ts FOLDER`.

import { ROOT } from "../../../src/access/grant.ts";
import { checkInProcess } from "../../../src/app/check-process.ts";
import { createBackupService } from "../../../src/backups/service.ts";
import { createFolderTarget } from "../../../src/backups/target/folder.ts";
import { startLocalServices } from "../../app/local-services.ts";
import { BACKUPS, CHOICES, documentOf, ORIGIN, PASSPHRASE } from "./loop.ts";

const [, , folder = ""] = process.argv;
const { signal } = new AbortController();
const local = await startLocalServices(folder);
const { services } = local;
const backups = createBackupService({
  archive: services.archive,
  target: createFolderTarget(`${folder}/${BACKUPS}`),
  passphrase: PASSPHRASE,
  keep: { last: 3 },
  check: (content, passphrase) => checkInProcess(content, passphrase),
  lease: { take: async () => async () => undefined },
  databaseId: services.databaseId,
  now: Date.now,
});
const caller = { grant: ROOT, origin: { ...ORIGIN, reason: "" } };
process.stdout.write("ready\n");
for (let turn = 0; ; turn += 1) {
  await services.archive.import(documentOf(turn % 2 === 0 ? "b" : "a"), caller, CHOICES);
  const { backup } = await backups.create({ passphrase: "", includeServerOwn: false, signal });
  await services.archive.import(documentOf(turn % 2 === 0 ? "a" : "b"), caller, CHOICES);
  await backups.restore({ name: backup.name }, caller, { ...CHOICES, signal });
}
