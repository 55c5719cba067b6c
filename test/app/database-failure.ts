import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect, onTestFinished } from "vitest";
import { servedServices } from "../../src/app/routes.ts";
import { toConnectError } from "../../src/gateway/application-error.ts";
import { isRead } from "../../src/gateway/method.ts";
import { startStandIn } from "../sites/stand-in.ts";
import { type LocalServices, startLocalServices } from "./local-services.ts";

type Request = Record<string, unknown>;

/** Rpcs that do not need the database, although they are no reads by their contract. */
const WITHOUT_DATABASE = new Set([
  "ValidateDriverConfig",
  "ExportMounts",
  "ExportArchive",
  // They read a site.
  "CompareMounts",
  "CompareSite",
  "TestMounts",
  "CompareRules",
  // They read and write the place of backups; the row of a backup is written later.
  "CreateBackup",
  "CheckBackup",
  "PruneBackups",
  // They reach a download manager first, and then save like SaveSettings.
  "SetAria2",
  "SetQbittorrent",
]);

const mount = (name: string): Request => ({
  name,
  mountPath: `/${name}`,
  driver: "Local",
  config: { root_folder_path: "/" },
});

/** Objects that the requests name. */
interface Prepared {
  readonly token: string;
  readonly incident: string;
  readonly delivery: string;
  readonly other: string;
  readonly backup: string;
}

/** A valid request of each rpc that needs one. */
function requestsOf({
  token,
  incident,
  delivery,
  other,
  backup,
}: Prepared): Record<string, Request> {
  const document = { storages: [{ mount_path: "/books", driver: "Local", addition: "{}" }] };
  return {
    CreatePrincipal: { name: "ben", kind: 1 },
    DisablePrincipal: { name: "anna" },
    CreateToken: { principal: "anna", scopes: ["settings:read"] },
    RotateToken: { id: token },
    RevokeToken: { id: token },
    GetDriver: { driver: "Local" },
    GetDriverSchema: { driver: "Local" },
    ValidateDriverConfig: { driver: "Local", values: {} },
    GetIncident: { id: incident },
    AcknowledgeIncident: { id: incident, note: "seen" },
    GetMount: { name: "films" },
    SaveMounts: { mounts: [mount("new")] },
    ReplaceCredential: { name: "films", item: "root_folder_path", value: "/srv" },
    CopyMount: { name: "films", newName: "copy", mountPath: "/copy", allowSharedCredential: true },
    RenameMount: { name: "films", newName: "other" },
    DeleteMounts: { names: ["films"] },
    CompareMounts: { site: "one" },
    SyncMounts: { site: "one" },
    TestMounts: { names: ["films"] },
    AdoptMounts: { site: "one" },
    ImportArchive: { document, only: ["mounts"], sites: { all: true } },
    RestoreBackup: { document, only: ["mounts"], sites: { all: true } },
    CheckBackup: { name: backup },
    GetRule: { path: "/ruled" },
    SaveRules: { rules: [{ path: "/new", readme: "new", sites: { all: true } }] },
    MoveRule: { path: "/ruled", newPath: "/moved" },
    DeleteRules: { paths: ["/ruled"] },
    CompareRules: { site: "one" },
    SyncRules: { site: "one" },
    AdoptRules: { site: "one" },
    ListUsers: { site: "one" },
    CompareUsers: { from: "one", to: "three" },
    CopyUsers: { from: "one", to: "three", names: ["ann"], randomPasswords: true },
    GetSetting: { key: "site_title" },
    BatchGetSettings: { keys: ["site_title"] },
    SaveSettings: { settings: [{ key: "site_title", value: "new" }] },
    DeleteSetting: { key: "own" },
    SetAria2: { uri: "http://127.0.0.1:9/jsonrpc", secret: "" },
    SetQbittorrent: { url: "http://127.0.0.1:9/" },
    GetRevision: { revision: 2n },
    DiffRevisions: { from: 1n, to: 2n },
    Rollback: { to: 1n },
    GetSite: { name: "one" },
    CreateSite: { site: { name: "two", url: other, token: "a-token" } },
    UpdateSite: { name: "one", site: { exclude: { patterns: ["x_*"] } } },
    DeleteSite: { name: "one" },
    CheckSite: { name: "one" },
    CompareSite: { name: "one" },
    AdoptSite: { name: "one" },
    SyncSite: { name: "one" },
    ListSiteLog: { name: "one" },
    CreateWebhook: { webhook: { name: "other", url: "https://example.com/b" } },
    UpdateWebhook: { name: "hook", webhook: { disabled: true } },
    DeleteWebhook: { name: "hook" },
    TestWebhook: { name: "hook" },
    ListWebhookDeliveries: { name: "hook" },
    ResendWebhookDelivery: { id: delivery },
  };
}

/** Services with an object of each kind. @param folder of the database. Default: a new one. */
export async function startWithObjects(given?: string) {
  const folder = given ?? (await mkdtemp(join(tmpdir(), "mooring-failure-")));
  if (given === undefined) onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const site = await startStandIn();
  const other = await startStandIn();
  const third = await startStandIn();
  onTestFinished(async () => {
    for (const each of [site, other, third]) await each.stop();
  });
  site.users.add({ username: "ann" });
  site.mounts.push({
    id: 1,
    mount_path: "/failing",
    driver: "Local",
    status: "failed: no such folder",
    disabled: false,
    addition: "{}",
  });
  const passphrase = join(folder, "passphrase");
  await writeFile(passphrase, "correct horse battery");
  const local = await startLocalServices(folder, {
    MOORING_WEBHOOK_TARGETS: "any",
    MOORING_BACKUP_DIR: join(folder, "backups"),
    MOORING_BACKUP_PASSPHRASE_FILE: passphrase,
  });
  onTestFinished(local.close);
  const call = local.call as (name: string, request?: Request) => Promise<never>;
  await call("SaveSettings", {
    settings: [
      { key: "site_title", value: "old" },
      { key: "own", value: "mine", flag: 3 },
    ],
  });
  await call("SaveMounts", { mounts: [mount("films")] });
  await call("CreatePrincipal", { name: "anna", kind: 1 });
  const made: { token: { id: string } } = await call("CreateToken", {
    principal: "anna",
    scopes: ["settings:read"],
  });
  await call("CreateSite", { site: { name: "one", url: site.url, token: site.token() } });
  await call("CreateSite", { site: { name: "three", url: third.url, token: third.token() } });
  await call("SaveRules", {
    rules: [{ path: "/ruled", readme: "old", sites: { all: true } }],
  });
  const backup: { backup?: { name: string } } = await call("CreateBackup");
  await call("CreateWebhook", { webhook: { name: "hook", url: "http://127.0.0.1:9/a" } });
  // A webhook sends one message at a time.
  await call("CreateWebhook", { webhook: { name: "tested", url: "http://127.0.0.1:9/b" } });
  const tested: { delivery: { id: string } } = await call("TestWebhook", { name: "tested" });
  const listed = async (): Promise<string | undefined> => {
    const { incidents }: { incidents: { id: string }[] } = await call("ListIncidents");
    return incidents[0]?.id;
  };
  await expect.poll(listed).toBeDefined();
  const prepared = {
    token: made.token.id,
    incident: (await listed()) ?? "",
    delivery: tested.delivery.id,
    other: other.url,
    backup: backup.backup?.name ?? "",
  };
  return { local, path: join(folder, "mooring.db"), requests: requestsOf(prepared) };
}

const methods = servedServices.flatMap((service): DescMethod[] => service.methods);

/** @returns the code and message of a call; code 0: it succeeded. */
async function outcomeOf(
  local: LocalServices,
  desc: DescMethod,
  request: Request,
): Promise<{ readonly code: number; readonly message: string }> {
  try {
    if (desc.methodKind === "unary") await local.call(desc.name, request);
    else {
      const stream = local.open(desc, undefined, request);
      try {
        await stream.next();
      } finally {
        await stream.close();
      }
    }
    return { code: 0, message: "" };
  } catch (thrown) {
    const { code, rawMessage: message } = toConnectError(thrown);
    return { code, message };
  }
}

/** Expects that a failing database is named as the cause, and that changes fail. */
export async function expectNamed(
  { local, requests }: Awaited<ReturnType<typeof startWithObjects>>,
  cause: RegExp,
): Promise<void> {
  const outcomes = await Promise.all(
    methods.map(async (desc) => ({
      name: desc.name,
      isChange: !isRead(desc) && !WITHOUT_DATABASE.has(desc.name),
      ...(await outcomeOf(local, desc, requests[desc.name] ?? {})),
    })),
  );
  const wrong = outcomes.filter(({ code, message, isChange }) => {
    if (code === 0) return isChange;
    if (/^(?:aria2|qBittorrent) at /.test(message)) return false;
    return (code !== Code.Unavailable && code !== Code.ResourceExhausted) || !cause.test(message);
  });
  expect(wrong).toEqual([]);
}
