import { ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { startWholeSite, type WholeSite } from "../mounts/whole-site.ts";
import { as, give } from "./access-client.ts";
import { startService, type TestService, TOKEN } from "./service.ts";

const SECRET = "dav-password-77c1";

let service: TestService;
let site: WholeSite;

beforeAll(async () => {
  site = await startWholeSite();
  service = await startService({
    siteTimes: { beat: 30, look: 60 },
    mountTimes: { beat: 30, look: 60 },
  });
  const { sites } = as(service.port);
  await sites.createSite({ site: { name: "harbour", url: site.url, token: site.token() } });
  await sites.syncSite({ name: "harbour" });
  await sites.updateSite({ name: "harbour", site: { mode: SiteMode.FOLLOW } });
});

afterAll(async () => {
  await service.stop();
  await site.stop();
});

const mounts = (token: string = TOKEN) =>
  createClient(
    MountService,
    createConnectTransport({
      ...{ baseUrl: `http://127.0.0.1:${service.port}`, httpVersion: "1.1" },
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", token);
          return next(request);
        },
      ],
    }),
  );
const dav = (name: string, password: string) => ({
  ...{ name, mountPath: `/${name}`, driver: "WebDav", sites: { names: ["nowhere"] } },
  config: { address: "https://dav.example", username: "ann", password },
});
const local = (name: string, path: string, names: string[]) => ({
  ...{ name, mountPath: path, driver: "Local", sites: { names } },
  config: { root_folder_path: "/srv" },
});

describe("without mounts:reveal a reply does not say whether a secret is the sent value", () => {
  test("in the names of what a save would change", async () => {
    await mounts().saveMounts({ mounts: [dav("vault", SECRET)] });
    const writer = mounts((await give(as(service.port), ["mounts:write"])).text);
    const guess = async (password: string) =>
      (
        await writer.saveMounts({
          mounts: [
            {
              name: "vault",
              config: { password },
              overrides: { quay: { config: { password } } },
            },
          ],
          dryRun: true,
        })
      ).results.map(({ outcome, differs }) => ({ outcome, differs }));
    const right = await guess(SECRET);
    expect(right).toEqual(await guess("wrong"));
    expect(right).toMatchObject([{ outcome: "changed", differs: ["password", "overrides.quay"] }]);
  });

  test("in an override that has it already", async () => {
    await mounts().saveMounts({
      mounts: [{ name: "vault", overrides: { quay: { config: { password: "own-1" } } } }],
    });
    const writer = mounts((await give(as(service.port), ["mounts:write"])).text);
    const guess = async (password: string) =>
      (
        await writer.saveMounts({
          mounts: [{ name: "vault", overrides: { quay: { config: { password } } } }],
          dryRun: true,
        })
      ).results.map(({ outcome, differs }) => ({ outcome, differs }));
    expect(await guess("own-1")).toEqual(await guess("wrong"));
  });

  test("in the names of mounts that have the same one", async () => {
    await mounts().saveMounts({ mounts: [dav("mine", "a-guess")] });
    const writer = mounts((await give(as(service.port), ["mounts:write"])).text);
    const request = { name: "mine", item: "password", value: "new", dryRun: true };
    await expect(writer.replaceCredential(request)).rejects.toThrow("mounts:reveal");
    // What is no secret is replaced without it.
    const { results } = await writer.replaceCredential({
      ...{ name: "mine", item: "username", value: "bob", dryRun: true },
    });
    expect(results.map(({ name }) => name)).toEqual(["mine", "vault"]);
    const both = mounts((await give(as(service.port), ["mounts:write", "mounts:reveal"])).text);
    expect((await both.replaceCredential(request)).results.map(({ name }) => name)).toEqual([
      "mine",
    ]);
    await mounts().deleteMounts({ names: ["mine", "vault"] });
  });
});

test("a path that is taken is reported at its own mount, after others that are wrong", async () => {
  await mounts().saveMounts({ mounts: [local("first", "/taken", ["nowhere"])] });
  const save = mounts().saveMounts({
    mounts: [
      { ...local("wrong", "/w", []), driver: "Lokal" },
      local("second", "/taken", ["nowhere"]),
    ],
  });
  const error = ConnectError.from(await save.catch((failure: unknown) => failure));
  const [details] = error.findDetails(BadRequestSchema);
  expect(details?.fieldViolations.map(({ field }) => field)).toEqual([
    "mounts[0].driver",
    "mounts[1].mount_path",
  ]);
  await mounts().deleteMounts({ names: ["first"] });
});

describe("a rollback", () => {
  test("brings no mount back to a path that another one has by now", async () => {
    const made = await mounts().saveMounts({ mounts: [local("gone", "/here", ["nowhere"])] });
    await mounts().deleteMounts({ names: ["gone"] });
    await mounts().saveMounts({ mounts: [local("newer", "/here", ["nowhere"])] });
    const back = (names: string[]) =>
      mounts().rollbackMounts({ revision: made.revision, names, dryRun: true });
    await expect(back(["gone"])).rejects.toThrow('gone: its path is that of the mount "newer"');
    // Both together are as they were.
    expect(
      (await back([])).results.map(({ name, outcome }) => `${name} ${outcome}`).sort(),
    ).toEqual(["gone created", "newer deleted"]);
    await mounts().deleteMounts({ names: ["newer"] });
  });
});

describe("a site that gets another name", () => {
  test("keeps its mounts, with their values for it", async () => {
    await mounts().saveMounts({
      mounts: [
        {
          ...local("books", "/books", ["harbour"]),
          overrides: { harbour: { config: { root_folder_path: "/mnt/books" } } },
        },
        { ...local("all", "/all", []), overrides: { harbour: { mountPath: "/everything" } } },
      ],
    });
    await expect.poll(() => site.storages.row("/books")?.status).toBe("work");
    await expect.poll(() => site.storages.row("/everything")?.status).toBe("work");
    const ids = ["/books", "/everything"].map((path) => site.storages.row(path)?.id);
    await as(service.port).sites.updateSite({ name: "harbour", site: { name: "quay" } });
    // Each of these is a whole round that deletes what the site is not to have.
    for (const name of ["later", "last"]) {
      await mounts().saveMounts({ mounts: [local(name, `/${name}`, [])] });
      await expect.poll(() => site.storages.row(`/${name}`)?.status).toBe("work");
    }
    expect(["/books", "/everything"].map((path) => site.storages.row(path)?.id)).toEqual(ids);
    expect(site.storages.addition("/books")["root_folder_path"]).toBe("/mnt/books");
    expect(site.storages.count("POST /api/admin/storage/delete")).toBe(0);
    await expect
      .poll(async () => (await mounts().getMount({ name: "books" })).mount?.status)
      .toMatchObject([{ site: "quay", state: "ok" }]);
    const writes = site.storages.calls.filter(({ call }) => call.endsWith("/update"));
    expect(writes).toEqual([]);
  });
});
