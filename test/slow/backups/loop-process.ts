// A process that makes backups and restores them until it is killed: `node loop-process.ts FOLDER URL TOKEN`.

import { ROOT } from "../../../src/access/grant.ts";
import { checkInProcess } from "../../../src/app/check-process.ts";
import { BackupService } from "../../../src/backups/service.ts";
import { createFolderTarget } from "../../../src/backups/target/folder.ts";
import { startLocalServices } from "../../app/local-services.ts";
import { quickKey } from "../../archive/text.ts";
import { BACKUPS, CHOICES, documentOf, ORIGIN, PASSPHRASE, USER } from "./loop.ts";

const [, , folder = "", url = "", token = ""] = process.argv;
const home = { url, token };
const { signal } = new AbortController();
const local = await startLocalServices(folder);
const { services } = local;
const backups = new BackupService({
  archive: services.archive,
  target: createFolderTarget(`${folder}/${BACKUPS}`),
  passphrase: PASSPHRASE,
  keep: { last: 3 },
  check: (content, passphrase) => checkInProcess(content, passphrase, {}, quickKey),
  lease: { take: async () => async () => undefined },
  databaseId: services.databaseId,
  now: Date.now,
});
const caller = { grant: ROOT, origin: { ...ORIGIN, reason: "" } };
process.stdout.write("ready\n");

/** Removes the user from the server, so that the restore creates it again. */
async function loseUser(): Promise<void> {
  const headers = { Authorization: token };
  const reply = await fetch(`${url}/api/admin/user/list`, { headers });
  const { data } = (await reply.json()) as {
    readonly data: {
      readonly content: readonly { readonly id: number; readonly username: string }[];
    };
  };
  const user = data.content.find(({ username }) => username === USER.username);
  await fetch(`${url}/api/admin/user/delete?id=${user?.id}`, { method: "POST", headers });
}

for (let turn = 0; ; turn += 1) {
  const [first, second] =
    turn % 2 === 0 ? (["bravo", "alpha"] as const) : (["alpha", "bravo"] as const);
  await services.archive.import(documentOf(first, home), caller, CHOICES);
  const { backup } = await backups.create(ROOT, {
    passphrase: "",
    includeServerOwn: false,
    signal,
  });
  await services.archive.import(documentOf(second, home), caller, CHOICES);
  await loseUser();
  await backups.restore({ name: backup.name }, caller, { ...CHOICES, signal });
}
