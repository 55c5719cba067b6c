import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { type As, as } from "./access-client.ts";
import { FOLLOWING, local, observe, rowOf, startFollowed } from "./following.ts";
import { startService } from "./service.ts";

const home = startedForAll(startWholeSite);
const service = startedForAll(() => startFollowed({ home }, FOLLOWING));
const admin = startedForAll(() => as(service.port));
startedForAll(() => observe(admin, "pier"));

const saved = (input: object) => (at: As) => at.mounts.saveMounts({ mounts: [input] });
const films = (more: object) => ({ ...local("films", "/srv"), ...more });

describe("an unknown site is refused with the nearest name, and nothing changes", () => {
  test.each<[string, (at: As) => Promise<unknown>, string]>([
    [
      "in the sites of a mount",
      saved({ name: "rest", sites: { names: ["home", "hoem"] } }),
      "mounts[0].sites",
    ],
    [
      "in the sites of a new mount",
      saved(films({ sites: { names: ["hoem"] } })),
      "mounts[0].sites",
    ],
    [
      "in an override",
      saved({ name: "rest", overrides: { hoem: { mountPath: "/x" } } }),
      "mounts[0].overrides.hoem",
    ],
    [
      "in an override without values",
      saved({ name: "rest", overrides: { hoem: {} } }),
      "mounts[0].overrides.hoem",
    ],
    [
      "in a webhook",
      (at) =>
        at.webhooks.createWebhook({
          webhook: { name: "w", url: "https://x.example", sites: { names: ["hoem"] } },
        }),
      "sites",
    ],
    ["in a list of mounts", (at) => at.mounts.listMounts({ site: "hoem" }), ""],
    ["in an export of mounts", (at) => at.mounts.exportMounts({ site: "hoem" }), ""],
    ["in a comparison of mounts", (at) => at.mounts.compareMounts({ site: "hoem" }), ""],
    ["in a sync of mounts", (at) => at.mounts.syncMounts({ site: "hoem" }), ""],
    ["in an adoption of mounts", (at) => at.mounts.adoptMounts({ site: "hoem" }), ""],
    [
      "in the place of a credential",
      (at) =>
        at.mounts.replaceCredential({
          name: "rest",
          item: "root_folder_path",
          site: "hoem",
          value: "/",
        }),
      "",
    ],
    [
      "in an import of mounts",
      (at) =>
        at.backup.importArchive({
          only: ["mounts"],
          document: { storages: [{ mount_path: "/x", driver: "Local" }] },
          sites: { names: ["hoem"] },
        }),
      "",
    ],
    ["in a list of incidents", (at) => at.incidents.listIncidents({ site: "hoem" }), ""],
    ["in a change of a site", (at) => at.sites.updateSite({ name: "hoem", site: {} }), ""],
    ["in a log of a site", (at) => at.sites.listSiteLog({ name: "hoem" }), ""],
  ])("%s", async (_name, call, field) => {
    await admin.mounts.saveMounts({
      mounts: [{ ...local("rest", "/srv"), sites: { names: ["home"] } }],
    });
    await expect.poll(() => rowOf(home, "/rest")?.status).toBe("work");
    const { revision } = await admin.mounts.listMounts({});
    const error = ConnectError.from(await call(admin).catch((failure: unknown) => failure));
    expect(error.rawMessage).toContain('there is no site "hoem". Did you mean "home"?');
    expect(error.code).toBe(field === "" ? Code.NotFound : Code.InvalidArgument);
    expect(
      error
        .findDetails(BadRequestSchema)
        .flatMap(({ fieldViolations }) => fieldViolations.map((violation) => violation.field)),
    ).toEqual(field === "" ? [] : [field]);
    expect((await admin.mounts.listMounts({})).revision).toBe(revision);
    expect(rowOf(home, "/rest")).toMatchObject({ disabled: false });
  });
});

test("a site that another process has just created is known at once", async () => {
  // Its background work reads the sites only after the test.
  const other = await startService({
    folder: service.folder,
    ...FOLLOWING,
    siteTimes: { tick: 3_600_000 },
    mountTimes: { tick: 3_600_000 },
  });
  const there = as(other.port);
  const quay = await observe(admin, "quay");
  try {
    await expect(there.mounts.compareMounts({ site: "quay" })).resolves.toBeDefined();
    const far = await observe(admin, "far");
    await expect(
      there.mounts.saveMounts({
        mounts: [{ ...local("books", "/b"), sites: { names: ["far"] } }],
        dryRun: true,
      }),
    ).resolves.toMatchObject({ results: [{ outcome: "created" }] });
    await far.stop();
  } finally {
    await other.stop();
    await quay.stop();
  }
});
