import { describe, expect, test } from "vitest";
import { startedForEach } from "../started.ts";
import { type FrontedSite, startFront } from "./upstream.ts";

const front: FrontedSite = startedForEach(() => startFront());

interface Row {
  readonly actor: string;
  readonly outcome: string;
  readonly subjects: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
}

const rows = async (): Promise<readonly Row[]> => {
  const { body } = await front.rpc("AuditService/ListAuditEvents", { methods: ["ChangeUpstream"] });
  const found: readonly (Omit<Row, "detail"> & { detail: string })[] = body.events ?? [];
  return found.map((row) => ({ ...row, detail: JSON.parse(row.detail) }));
};
const ann = {
  username: "ann",
  password: "ann-secret-17",
  base_path: "/films",
  role: 0,
  permission: 12,
  disabled: false,
};

describe("a change of users, roles and shares on the upstream's own pages", () => {
  test("is in the audit with its admin and without secrets, and reaches the upstream unchanged", async () => {
    const token = await front.login();
    const { id } = front.site.users.add({ username: "ann" });
    const body = { ...ann, id };
    const reply = await front.call("POST", "/api/admin/user/update", { token, body });
    expect(reply.code).toBe(200);
    const [row] = await rows();
    expect(row).toMatchObject({
      actor: "upstream:admin",
      outcome: "OK",
      subjects: ["upstream", "user:ann"],
      detail: {
        call: "user/update",
        role: 0,
        permission: 12,
        base_path: "/films",
        disabled: false,
        password: "set",
      },
    });
    expect(JSON.stringify(await rows())).not.toContain("ann-secret-17");
    expect(front.site.users.named("ann")).toMatchObject({
      base_path: "/films",
      permission: 12,
      hidden: { password: "ann-secret-17" },
    });
  });

  test("that the upstream refuses is recorded as refused", async () => {
    const token = await front.login();
    const reply = await front.call("POST", "/api/share/create", {
      token,
      body: { id: "s1", files: [], pwd: "share-secret" },
    });
    expect(reply.code).not.toBe(200);
    expect(await rows()).toMatchObject([
      { outcome: "FAILED_PRECONDITION", subjects: ["upstream", "share:s1"] },
    ]);
    expect(JSON.stringify(await rows())).not.toContain("share-secret");
  });

  test("of another user, and reads, are not recorded", async () => {
    const token = await front.login("ann", "ann-password");
    await front.call("POST", "/api/admin/user/update", { token, body: ann });
    await front.call("GET", "/api/admin/user/list", { token: await front.login() });
    await front.call("POST", "/api/admin/user/list", { token: await front.login() });
    expect(await rows()).toEqual([]);
  });

  test.each([
    ["a body that is no JSON", "{no"],
    ["a body of another form", "[1,2]"],
    ["a large body", `{"username":"ann","x":"${"y".repeat(200_000)}"}`],
  ])("with %s is passed on and recorded by its call", async (_what, text) => {
    const token = await front.login();
    await fetch(`${front.url}/api/admin/role/create`, {
      method: "POST",
      headers: { authorization: token, "content-type": "application/json" },
      body: text,
    }).then((reply) => reply.text());
    expect(await rows()).toMatchObject([{ detail: { call: "role/create" } }]);
  });
});
