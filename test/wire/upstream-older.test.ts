import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { TOKEN, VERSION } from "./service.ts";
import { invoke, read } from "./transport/transport.ts";
import { type FrontedSite, startFront } from "./upstream.ts";

/** Settings of later versions: a public one and a private one. */
const LACKS = ["share_summary_content", "multipart_chunk_size"];
const { listSettings, getSetting, batchGetSettings, watchSettings, saveSettings } =
  SettingService.method;
const { getPublicSettings, watchPublicSettings } = PublicService.method;

let front: FrontedSite;

interface Row {
  readonly key: string;
  readonly value: string;
  readonly type: string;
  readonly options: string;
}

async function rows(token: string, query = ""): Promise<Row[]> {
  return (await front.call("GET", `/api/admin/setting/list${query}`, { token })).data;
}
const keysOf = (of: readonly Row[]) => of.map(({ key }) => key).toSorted();
const rowOf = (of: readonly Row[], key: string) => of.find((row) => row.key === key);

describe("in front of an older server", () => {
  let login: string;
  beforeAll(async () => {
    front = await startFront({ lacks: LACKS, siteTimes: { ownRows: 0 } });
    login = await front.login();
  });
  afterAll(() => front.stop());

  describe.each(sharedPortTransports)("over $name", ({ open }) => {
    const transport = startedForAll(() => open(front.service));

    /** The first reply or event. */
    async function first(method: DescMethod, authorization: string, input: object = {}) {
      const message = await read(transport, method, input, { authorization });
      return (message["snapshot"] ?? message) as JsonObject;
    }
    const keys = ({ settings }: JsonObject) =>
      (settings as unknown as Row[]).map(({ key }) => key).toSorted();

    test.each([listSettings, watchSettings])(
      "$name shows the settings of that server",
      async (method) => {
        if (!transport.carries(method)) return;
        const known = [...front.site.settings.rows.keys()].toSorted();
        expect(keys(await first(method, login))).toEqual(known);
        // Mooring's own token sees all of Mooring's settings: other sites may have more.
        expect(keys(await first(method, TOKEN))).toEqual(expect.arrayContaining(LACKS));
      },
    );

    test("public settings are those of that server", async () => {
      const own = [...front.site.settings.rows.values()];
      const known = keysOf(own.filter(({ flag }) => flag === 0 || flag === 2));
      for (const method of [getPublicSettings, watchPublicSettings]) {
        if (!transport.carries(method)) continue;
        const message = await read(transport, method, {}, {});
        const { settings } = (message["snapshot"] ?? message) as JsonObject;
        expect(Object.keys(settings as JsonObject).toSorted()).toEqual(known);
      }
    });

    test("index_progress has the server's current value", async () => {
      const text = `{"object_count":7,"is_done":true,"over":"${transport.name}"}`;
      front.site.put("index_progress", text);
      await expect
        .poll(async () => {
          const { settings } = await first(listSettings, login);
          return rowOf(settings as unknown as Row[], "index_progress")?.value;
        })
        .toBe(text);
    });

    test("every client gets the server's version, in a read and in a watch", async () => {
      const version = front.site.value("version");
      expect(version).not.toBe(VERSION);
      for (const method of [getPublicSettings, watchPublicSettings].filter(transport.carries))
        expect(await first(method, "")).toMatchObject({ settings: { version } });
    });

    test.each([
      ["listSettings", listSettings, {}],
      ["getSetting", getSetting, { key: "version" }],
      ["batchGetSettings", batchGetSettings, { keys: ["version"] }],
      ["watchSettings", watchSettings, {}],
    ] as const)(
      "%s: the server's admin gets its version, Mooring's own token Mooring's",
      async (_, method, input) => {
        if (!transport.carries(method)) return;
        const version = async (authorization: string) => {
          const { setting, settings = [setting] } = await first(method, authorization, input);
          return rowOf(settings as unknown as Row[], "version")?.value;
        };
        expect(await version(login)).toBe(front.site.value("version"));
        expect(await version(TOKEN)).toBe(VERSION);
      },
    );

    const list = async (authorization: string) =>
      (await invoke(transport, listSettings, {}, { authorization })).kind;

    test("the login of an admin is accepted as bare token and as Bearer", async () => {
      for (const before of ["", "Bearer ", "bearer ", "BEARER ", "Bearer  "])
        expect([before, await list(`${before}${login}`)]).toEqual([before, "reply"]);
      for (const before of ["Basic ", "Bearer Bearer ", "Bearer", "Token "])
        expect([before, await list(`${before}${login}`)]).toEqual([before, "failure"]);
    });

    test("a value that the server refuses is named with the server's message", async () => {
      if (!transport.carries(saveSettings)) return;
      const refused = { key: "search_index", value: "meilisearch" };
      const settings = [{ key: "site_title", value: `Taken over ${transport.name}` }, refused];
      const by = { authorization: login };
      expect(await invoke(transport, saveSettings, { settings }, by)).toMatchObject({
        kind: "failure",
        // REST has the code of the server's own envelope.
        code: transport.protocol === "rest" ? 500 : transport.codeOf(Code.FailedPrecondition),
        message: expect.stringMatching(
          /not support index: meilisearch; the other settings were saved$/,
        ),
        fields: ["settings[1].value"],
      });
      expect(rowOf(await rows(login), "search_index")?.value).toBe("none");
    });

    test("the login of a user who is not an admin is refused in any form", async () => {
      const ann = await front.login("ann", "ann-password");
      for (const before of ["", "Bearer "]) expect(await list(`${before}${ann}`)).toBe("failure");
    });
  });
});

describe("compared with the server", () => {
  afterEach(() => front.stop());

  test("a custom setting is listed, though the server does not have it", async () => {
    front = await startFront({ lacks: LACKS });
    const token = await front.login();
    const body = [{ key: "my_own", value: "1", type: "string", group: 1, flag: 0 }];
    const reply = await front.call("POST", "/api/admin/setting/save", { token, body });
    expect(reply.code).toBe(200);
    expect(keysOf(await rows(token))).toContain("my_own");
    const { data } = await front.call("GET", "/api/public/settings");
    expect(data.my_own).toBe("1");
  });

  test("index_progress is no change in a list that is sent back", async () => {
    front = await startFront();
    front.site.put("index_progress", '{"object_count":7}');
    const token = await front.login();
    const before = await rows(TOKEN, "?group=0");
    const shown = await rows(token, "?group=0");
    expect(rowOf(shown, "index_progress")?.value).toBe('{"object_count":7}');
    const reply = await front.call("POST", "/api/admin/setting/save", { token, body: shown });
    expect(reply.code).toBe(200);
    const key = "index_progress";
    expect(rowOf(await rows(TOKEN, "?group=0"), key)).toEqual(rowOf(before, key));
    const one = await front.call("GET", `/api/admin/setting/get?key=${key}`, { token });
    expect(one.data.value).toBe('{"object_count":7}');
  });

  test("an unreachable server leaves its last values", async () => {
    front = await startFront();
    front.site.put("index_progress", '{"object_count":7}');
    const token = front.site.token();
    expect(rowOf(await rows(token), "index_progress")?.value).toBe('{"object_count":7}');
    await front.site.stop();
    // The user was requested a moment ago.
    const again = await front.call("GET", "/api/admin/setting/list", { token });
    if (again.code === 200) expect(rowOf(again.data, "index_progress")?.value).toMatch(/7/);
    await front.site.start();
  });

  test("default_role of AList is a select of role names", async () => {
    front = await startFront({
      manner: "alist",
      version: "v3.63.0",
      env: { MOORING_FAMILY: "alist" },
      siteTimes: { ownRows: 0 },
    });
    const token = await front.login();
    const page = await rows(token, "?group=1");
    expect(rowOf(page, "default_role")).toMatchObject({
      type: "select",
      options: "editor,reader",
      value: "guest",
    });
    const save = (key: string, value: string) =>
      front.call("POST", "/api/admin/setting/save", {
        token,
        body: page.map((row) => (row.key === key ? { ...row, value } : row)),
      });
    // "guest" cannot be selected there, and was not selected here.
    expect((await save("site_title", "Another")).message).toBe("success");
    expect((await save("default_role", "reader")).code).toBe(200);
    expect(front.site.value("default_role")).toBe("4");
    await expect
      .poll(async () => rowOf(await rows(token, "?group=1"), "default_role")?.value)
      .toBe("reader");
  });
});
