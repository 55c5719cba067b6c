import { beforeAll, describe, expect, test } from "vitest";
import { AccessService } from "../../gen/mooring/v1/access_service_pb.js";
import { AuditService } from "../../gen/mooring/v1/audit_service_pb.js";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { StatusService } from "../../gen/mooring/v1/status_service_pb.js";
import { SCOPES } from "../../src/access/grant.ts";
import { requirementOf } from "../../src/access/requirement.ts";
import { run } from "../cli/world.ts";
import { startedForAll } from "../started.ts";
import { TOKEN } from "./service.ts";
import { startFront } from "./upstream.ts";

const front = startedForAll(startFront);
let login: string;

beforeAll(async () => {
  login = await front.login();
});

/** By default as the admin of the server. */
async function rpc(path: string, body: object = {}, authorization = login) {
  const { body: message, ...answer } = await front.rpc(path, body, authorization);
  return { ...answer, ok: answer.code === "ok", message };
}

const scopes = async (): Promise<string[]> =>
  (await rpc("AccessService/WhoAmI")).message.scopes as string[];

test("an admin of the upstream has every scope except that of tokens", async () => {
  const { message } = await rpc("AccessService/WhoAmI");
  expect(message.principal).toBe("upstream:admin");
  expect(message.scopes).toEqual(SCOPES.filter((scope) => scope !== "tokens:manage").toSorted());
});

test("whoami of the command line reports a login", async () => {
  const env = { MOORING_ADDRESS: `127.0.0.1:${front.service.port}`, MOORING_TOKEN: login };
  const { code, out } = await run(["whoami"], { env });
  expect(code).toBe(0);
  expect(out).toMatch(/^principal +upstream:admin$/m);
  expect(out).toMatch(/^token +a login of the upstream$/m);
  expect(out).toMatch(/^until +the login ends$/m);
});

const services = [
  AccessService,
  AuditService,
  DriverService,
  SettingService,
  SiteService,
  StatusService,
];
const methods = services.flatMap((service) =>
  service.methods.filter(({ methodKind }) => methodKind === "unary"),
);

test.each(methods.map((method) => [`${method.parent.name}/${method.name}`, method] as const))(
  "%s is refused exactly where the scopes do not allow it",
  async (path, method) => {
    const held = new Set(await scopes());
    const isAllowed = requirementOf(method).scopes.every((scope) => held.has(scope));
    const { code, text } = await rpc(path);
    expect(code === "permission_denied", text).toBe(!isAllowed);
  },
);

describe("Mooring's own token", () => {
  const own = async (): Promise<string> =>
    (await rpc("SettingService/GetSetting", { key: "token" }, TOKEN)).message.setting.value;

  test("is in no read of such an admin; the server's own is", async () => {
    for (const secrets of ["SECRETS_MODE_CLEAR", "SECRETS_MODE_SEAL"]) {
      const passphrase = secrets.endsWith("SEAL") ? "a long passphrase of a test" : "";
      const { ok, text } = await rpc("BackupService/ExportArchive", {
        secrets,
        passphrase,
        includeServerOwn: true,
      });
      expect([ok, text.includes(TOKEN)], text.slice(0, 300)).toEqual([true, false]);
    }
    const reads = [
      ["GetSetting", { key: "token" }],
      ["BatchGetSettings", { keys: ["token"] }],
      ["ListSettings", { groups: [0] }],
    ] as const;
    for (const [name, body] of reads) {
      const plain = await rpc(`SettingService/${name}`, body);
      expect([plain.text.includes(TOKEN), plain.text.includes(front.site.token())]).toEqual([
        false,
        true,
      ]);
      const { text } = await rpc(`SettingService/${name}`, { ...body, maskSecrets: true });
      expect([text.includes(TOKEN), text.includes(front.site.token())]).toEqual([false, false]);
    }
  });

  test("is changed by no call of such an admin", async () => {
    await rpc("SettingService/SaveSettings", { settings: [{ key: "site_title", value: "a" }] });
    const item = { key: "token", value: "x".repeat(40) };
    await rpc("SettingService/SaveSettings", { settings: [item] });
    expect(await own()).toBe(TOKEN);
    const clear = { secrets: "SECRETS_MODE_CLEAR", includeServerOwn: true };
    const backup = await rpc("BackupService/ExportArchive", clear, TOKEN);
    const { document } = JSON.parse(backup.text.replaceAll(TOKEN, item.value));
    await rpc("BackupService/ImportArchive", { document, includeServerOwn: true });
    expect(await own()).toBe(TOKEN);
    const { message } = await rpc("SettingService/ListRevisions", {});
    await rpc("SettingService/Rollback", { revision: message.revisions.at(-1).revision });
    expect(await own()).toBe(TOKEN);
  });
});
