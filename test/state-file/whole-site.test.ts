// A file that declares a whole site, followed by a service.
import { writeFile } from "node:fs/promises";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { problemsOf } from "../config/parse.ts";
import { startedForEach } from "../started.ts";
import { newFolder } from "../store/folder.ts";
import { as } from "../wire/access-client.ts";
import { startService, type TestService } from "../wire/service.ts";

const folder = startedForEach(newFolder);
let file: string;
let service: TestService | undefined;

beforeEach(async () => {
  file = folder.at("state.yaml");
  await writeFile(folder.at("site-token"), "token-of-the-site\n");
  await writeFile(folder.at("dav"), "password-of-dav\n");
});

afterEach(async () => {
  await service?.stop();
  service = undefined;
});

const start = async (env: Readonly<Record<string, string>> = { MOORING_STATE_FILE: file }) => {
  service = await startService({ env });
  return as(service.port);
};

const WHOLE = `version: 1
sites:
  harbour:
    url: http://127.0.0.1:9
    token: \${file:site-token}
    mode: observe
    exclude: [site_title]
    overrides:
      announcement: on harbour
settings:
  site_title: Declared
  text_types: [txt, md]
  own_colour:
    value: "#123456"
    help: ours
    group: 4
mounts:
  cloud:
    path: /cloud
    driver: WebDav
    config: { address: "https://dav.example", username: ann, password: "\${file:dav}" }
    sites: [harbour]
webhooks:
  chat:
    url: https://chat.example/hook/secret-part
    secret: whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=
    classes: [quota]
    sites: [harbour]
principals:
  ci:
    kind: program
    tokens:
      - id: abcdefghijkl
        scopes: [settings:read]
`;

test("a file declares sites, settings, mounts, webhooks and principals, with references for secrets", async () => {
  await writeFile(file, WHOLE);
  const { sites, settings, mounts, webhooks, access } = await start();
  const { site } = await sites.getSite({ name: "harbour" });
  expect(site).toMatchObject({ mode: SiteMode.OBSERVE, exclude: ["site_title"] });
  expect((await settings.getSetting({ key: "own_colour" })).setting).toMatchObject({
    value: "#123456",
    help: "ours",
    group: 4,
    managed: true,
  });
  expect((await mounts.getMount({ name: "cloud", reveal: true })).mount).toMatchObject({
    config: { password: "password-of-dav" },
    sites: { names: ["harbour"] },
  });
  expect((await webhooks.listWebhooks({})).webhooks).toMatchObject([
    { name: "chat", sites: ["harbour"] },
  ]);
  expect((await access.listTokens({})).tokens).toMatchObject([{ id: "abcdefghijkl" }]);
  const log = service?.log() ?? "";
  expect(log).toContain('"state file applied"');
  for (const secret of ["token-of-the-site", "password-of-dav", "secret-part"])
    expect(log).not.toContain(secret);
});

describe("changes of declared records by clients", () => {
  const cases: readonly (readonly [string, (all: ReturnType<typeof as>) => Promise<unknown>])[] = [
    [
      "a setting",
      ({ settings }) =>
        settings.saveSettings({ settings: [{ key: "site_title", value: "another" }] }),
    ],
    ["a mount", ({ mounts }) => mounts.saveMounts({ mounts: [{ name: "cloud", disabled: true }] })],
    ["the deletion of a mount", ({ mounts }) => mounts.deleteMounts({ names: ["cloud"] })],
    [
      "a site",
      ({ sites }) => sites.updateSite({ name: "harbour", site: { mode: SiteMode.FOLLOW } }),
    ],
    ["the deletion of a site", ({ sites }) => sites.deleteSite({ name: "harbour" })],
    [
      "a webhook",
      ({ webhooks }) => webhooks.updateWebhook({ name: "chat", webhook: { disabled: true } }),
    ],
    ["the deletion of a webhook", ({ webhooks }) => webhooks.deleteWebhook({ name: "chat" })],
  ];

  test("are refused with the name of the file", async () => {
    await writeFile(file, WHOLE);
    const all = await start();
    for (const [name, change] of cases) {
      const failure = await change(all).then(String, (error: unknown) => error);
      expect(failure, name).toMatchObject({
        code: Code.FailedPrecondition,
        rawMessage: expect.stringContaining(`is managed by the state file ${file}`),
      });
    }
  });

  test("are refused for a new name that the file declares, and permitted for the end of a right", async () => {
    await writeFile(file, WHOLE);
    const all = await start();
    await all.mounts.saveMounts({
      mounts: [
        { name: "own", mountPath: "/own", driver: "Local", config: { root_folder_path: "/" } },
      ],
    });
    await expect(all.mounts.renameMount({ name: "own", newName: "cloud" })).rejects.toMatchObject({
      code: Code.FailedPrecondition,
    });
    await all.access.disablePrincipal({ name: "ci" });
  });

  test("succeed when the file no longer declares the records, which stay", async () => {
    await writeFile(file, WHOLE);
    const all = await start();
    await writeFile(file, "version: 1\nsettings: {}\n");
    for (const [name, change] of cases.filter(([name]) => !name.startsWith("the deletion")))
      await expect
        .poll(() => change(all).then(String, String), { message: name, timeout: 10_000 })
        .not.toContain("is managed");
    expect((await all.mounts.getMount({ name: "cloud" })).mount?.disabled).toBe(true);
  });
});

test("an invalid change of the file changes nothing; log and status have file and line", async () => {
  await writeFile(file, WHOLE);
  const { settings, status } = await start();
  const wrong = WHOLE.replace("Declared", "Changed").replace("mode: observe", "mode: watch");
  await writeFile(file, wrong);
  const line = `${file}:6:5: harbour: `;
  await expect.poll(() => service?.log()).toContain(line);
  expect((await settings.getSetting({ key: "site_title" })).setting?.value).toBe("Declared");
  const { checks } = await status.getStatus({});
  expect(checks).toContainEqual(
    expect.objectContaining({ name: "files", problem: "", note: expect.stringContaining(line) }),
  );
  await writeFile(file, WHOLE.replace("Declared", "Changed"));
  await expect
    .poll(async () => (await settings.getSetting({ key: "site_title" })).setting?.value)
    .toBe("Changed");
  expect((await status.getStatus({})).checks.map(({ name }) => name)).not.toContain("files");
});

describe("an invalid file ends the start with the place of each problem", () => {
  test.each([
    ["setings: {}\n", ':1:1: there is no section "setings". Did you mean "settings"?'],
    ["settings:\n  site_tile: x\n", ":2:3: site_tile: there is no such setting. Did you mean"],
    ["settings:\n  allow_indexed: maybe\n", ":2:3: allow_indexed: "],
    ["settings:\n  token: short\n", ":2:3: token: "],
    ["settings:\n  version: v1\n", ":2:3: version: "],
    ["sites:\n  one: { url: nowhere }\n", ":2:10: one: "],
    ["sites:\n  one: { url: 'http://a', paused: 1 }\n", ":2:27: one: "],
    ["principals:\n  one: { kind: robot }\n", "one: "],
    ["principals:\n  one: { tokens: [{ id: x }] }\n", ":2:10: one: "],
    ["mounts:\n  a: { path: /a, driver: Nothing, sites: all }\n", ":2:18: a.driver: "],
    [`settings: { site_title: "\${env:NO_SUCH}" }\n`, ":1:13: site_title: "],
  ])("%j", async (text, message) => {
    await writeFile(file, text);
    const failure = await start().then(String, String);
    expect(failure).toContain("the state file is invalid");
    expect(failure).toContain(message);
  });

  test("and all problems of all sections are reported together", async () => {
    await writeFile(
      file,
      "settings:\n  site_tile: x\nmounts:\n  a: { path: a, driver: Nothing }\nsites:\n  b: {}\n",
    );
    const failure = await start().then(String, String);
    for (const place of [":2:3: ", ":4:17: ", ":6:3: "])
      expect(failure).toContain(`${file}${place}`);
  });
});

test.each(["MOORING_SETTINGS_FILE", "MOORING_MOUNTS_FILE"])(
  "a state file beside %s is refused at the start",
  (variable) => {
    expect(problemsOf({ env: { MOORING_STATE_FILE: file, [variable]: file } })).toEqual([
      expect.stringContaining(`MOORING_STATE_FILE and ${variable} are both set`),
    ]);
  },
);

test.each(["/films", "/films/", "films", "/x/../films"])(
  "a folder rule that the file names %s is changed by the file alone",
  async (path) => {
    await writeFile(file, `rules:\n  "${path}": { hide: x }\n`);
    const { rules } = await start();
    expect((await rules.getRule({ path: "/films" })).rule?.hide).toBe("x");
    for (const change of [
      rules.saveRules({ rules: [{ path: "/films", hide: "y" }] }),
      rules.deleteRules({ paths: ["/films"] }),
      rules.moveRule({ path: "/films", newPath: "/other" }),
    ])
      await expect(change).rejects.toMatchObject({ code: Code.FailedPrecondition });
  },
);

test.each(["rules: { /films: {}, films/: {} }", "rules: [{ name: /films }, { name: films/ }]"])(
  "a folder that two entries name is a problem: %s",
  async (text) => {
    await writeFile(file, text);
    await expect(start()).rejects.toThrow("occurs a second time here");
  },
);
