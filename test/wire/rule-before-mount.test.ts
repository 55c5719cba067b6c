// Order of users, folder rules and mounts on a site: no folder is open before its rule is there.
import { expect, onTestFinished, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForEach } from "../started.ts";
import { as } from "./access-client.ts";
import { FOLLOWING, startFollowed } from "./following.ts";

const home = startedForEach(startWholeSite);
const quay = startedForEach(startWholeSite);
/** Without an event, a waiting rule is tried again after a minute. */
const service = startedForEach(() =>
  startFollowed({ home, quay }, { ...FOLLOWING, mountTimes: {} }),
);
const admin = startedForEach(() => as(service.port));

const users = (...names: string[]) => ({
  values: names.map((value) => ({ kind: { case: "stringValue" as const, value } })),
});
const ON_HOME = { names: ["home"] };
const mount = { name: "films", mountPath: "/films", driver: "Local", sites: ON_HOME };
const paths = () => [...home.storages.rows.values()].map(({ mount_path }) => mount_path);
const status = async () =>
  (await admin.mounts.getMount({ name: "films" })).mount?.status.find(
    ({ site }) => site === "home",
  );
const saveMount = () =>
  admin.mounts.saveMounts({ mounts: [{ ...mount, config: { root_folder_path: "/" } }] });

test.each(["/films", "/films/private", "/"])(
  "a mount waits for a rule at %s with users that the site lacks, and both follow at once when they are copied",
  async (path) => {
    quay.settings.users.add({ username: "zoe", base_path: "/" });
    await admin.rules.saveRules({
      rules: [{ path, readUsers: users("zoe"), sites: ON_HOME }],
    });
    await saveMount();
    await expect.poll(async () => (await status())?.error).toContain(`folder rule of ${path}`);
    expect(paths()).not.toContain("/films");
    await admin.users.copyUsers({
      from: "quay",
      to: "home",
      names: ["zoe"],
      randomPasswords: true,
    });
    await expect.poll(paths).toContain("/films");
    expect(home.settings.rules.at(path)?.read_users).toHaveLength(1);
    await expect.poll(async () => (await status())?.state).toBe("ok");
  },
);

test.each([
  ["that limits nobody", "/films", {}],
  ["of another folder", "/other", { password: "p" }],
])("a mount does not wait for a rule %s", async (_what, path, values) => {
  await admin.rules.saveRules({
    rules: [{ path, writeUsers: users(), readme: "x", ...values, sites: ON_HOME }],
  });
  await saveMount();
  await expect.poll(paths).toContain("/films");
});

test("a mount that is on the site stays when a rule is added that waits", async () => {
  await saveMount();
  await expect.poll(paths).toContain("/films");
  await admin.rules.saveRules({
    rules: [{ path: "/films", readUsers: users("zoe"), sites: ON_HOME }],
  });
  await expect
    .poll(async () => (await admin.rules.getRule({ path: "/films" })).rule?.status[0]?.state)
    .toBe("failing");
  expect(paths()).toContain("/films");
});

test.each([
  ["waits for a rule that the site gets when its rules are written", "/own", []],
  ["does not wait for a rule at whose path the site has its own", "/films", ["/films"]],
])("on a site whose own rules are not adopted, a mount %s", async (_what, own, atOnce) => {
  quay.settings.rules.put({ path: own, password: "theirs" });
  const sites = { names: ["quay"] };
  const beside = await startFollowed({ quay }, FOLLOWING);
  onTestFinished(() => beside.stop());
  const { rules, mounts } = as(beside.port);
  const there = () => [...quay.storages.rows.values()].map(({ mount_path }) => mount_path);
  await rules.saveRules({ rules: [{ path: "/films", password: "p", sites }] });
  await mounts.saveMounts({ mounts: [{ ...mount, config: { root_folder_path: "/" }, sites }] });
  const state = async () => (await mounts.getMount({ name: "films" })).mount?.status[0];
  await expect.poll(async () => (await state())?.state).toMatch(/^(?:ok|stuck)$/);
  expect(there()).toEqual(atOnce);
  if (atOnce.length > 0) return;
  expect((await state())?.error).toContain("folder rule of /films");
  expect((await state())?.remedy).toContain('"mooring rule sync quay"');
  await rules.syncRules({ site: "quay" });
  await expect.poll(there).toEqual(["/films"]);
  expect(quay.settings.rules.at("/films")).toMatchObject({ password: "p" });
});
