import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createGrant } from "../../src/access/grant.ts";
import { callerOf, openedAccess, refusalOf, START } from "./opened.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const FIRST_PAGE = { principal: "", active: false, pageSize: 0, pageToken: "" };

const input = (more: object = {}) => ({
  principal: "bot",
  scopes: ["settings:read"],
  limits: [],
  comment: "",
  expiresAt: undefined,
  neverExpires: false,
  ...more,
});

const invalidField = (field: string) => ({
  code: Code.InvalidArgument,
  violations: [expect.objectContaining({ field })],
});
const precondition = (id: string, parameters: object) => ({
  code: Code.FailedPrecondition,
  id,
  parameters,
});

describe("a new token", () => {
  test("is accepted, belongs to its principal and is audited", async () => {
    const { access, registry, changed, audited } = await openedAccess();
    const scopes = ["settings:write", "settings:read", "settings:write"];
    const limits = ["key:a", "key:b", "key:a"];
    const made = await access.createToken(
      input({ scopes, limits, comment: "why" }),
      callerOf(undefined, "ann"),
    );
    expect(changed).toHaveBeenCalledOnce();
    const expires = START + 90 * DAY;
    expect(made).toMatchObject({
      principal: "bot",
      isActive: true,
      expiresSoon: false,
      use: undefined,
      token: {
        scopes: scopes.slice(0, 2),
        limits: limits.slice(0, 2),
        comment: "why",
        createdAt: START,
        createdBy: "ann",
        expiresAt: expires,
        notAfter: null,
        replacedBy: null,
        revokedAt: null,
        revokedBy: null,
      },
    });
    const found = registry.find(made.text, () => "");
    expect(found).toMatchObject({ name: `bot/${made.token.id}`, until: expires });
    expect(registry.endOf(made.token.id)).toBe(expires);
    expect(registry.endOf("unknown")).toBe(undefined);
    expect(registry.principals()).toMatchObject([
      { name: "bot", kind: "program", createdBy: "ann", createdAt: START },
    ]);
    expect(await audited()).toEqual([
      [
        [`bot/${made.token.id}`],
        {
          scopes: scopes.slice(0, 2),
          limits: limits.slice(0, 2),
          expires: "2026-04-01T00:00:00.000Z",
        },
      ],
    ]);
  });

  test("expires as requested, never, or after 90 days", async () => {
    const { access, audited } = await openedAccess();
    const endOf = async (lifetime: object) =>
      (await access.createToken(input(lifetime), callerOf())).token.expiresAt;
    expect(await endOf({ expiresAt: START + 1 })).toBe(START + 1);
    expect(await endOf({ neverExpires: true })).toBe(null);
    expect((await audited()).at(-1)?.[1]).toEqual({ scopes: ["settings:read"], expires: "never" });
    const both = endOf({ neverExpires: true, expiresAt: START + 1 });
    await expect(both).rejects.toMatchObject(invalidField("never_expires"));
    for (const expiresAt of [START, START - 1])
      await expect(endOf({ expiresAt })).rejects.toMatchObject(invalidField("expire_time"));
  });

  test("is refused with an invalid principal, comment or scope", async () => {
    const { access, registry } = await openedAccess();
    const create = (more: object) => access.createToken(input(more), callerOf());
    await expect(create({ principal: "A" })).rejects.toMatchObject(invalidField("principal"));
    await expect(create({ scopes: ["x"] })).rejects.toMatchObject(invalidField("scopes[0]"));
    const comment = "c".repeat(201);
    await expect(create({ comment })).rejects.toMatchObject(invalidField("comment"));
    expect([...registry.tokens()]).toEqual([]);
    await create({ comment: comment.slice(1) });
  });

  test("cannot exceed the rights of its creator; the error names the missing ones", async () => {
    const { access } = await openedAccess();
    const caller = callerOf(createGrant(["tokens:manage", "settings:write"], []));
    await access.createToken(input({ scopes: ["settings:write"] }), caller);
    const more = input({ scopes: ["settings:delete", "audit:read", "settings:read"] });
    await expect(access.createToken(more, caller)).rejects.toMatchObject({
      code: Code.PermissionDenied,
      message: expect.sentence(/audit:read, settings:delete(?!.*settings:read)/),
    });
  });

  test("is refused for a disabled principal", async () => {
    const { access } = await openedAccess();
    await access.createToken(input(), callerOf());
    await access.disablePrincipal("bot", callerOf());
    const creation = access.createToken(input(), callerOf());
    expect(await refusalOf(creation)).toMatchObject(
      precondition("PRINCIPAL_DISABLED", { name: '"bot"' }),
    );
  });
});

describe("a rotated token", () => {
  test("has a successor with the same rights and lifetime, and expires after the overlap", async () => {
    const { access, registry, clock, audited } = await openedAccess();
    const end = START + 10 * DAY;
    const lifetime = { limits: ["key:a"], comment: "kept", expiresAt: end };
    const old = await access.createToken(input(lifetime), callerOf());
    expect(registry.find(old.text, () => "")?.until).toBe(end);
    clock.now = START + DAY;
    const rotate = { id: old.token.id, overlap: undefined, expiresAt: undefined };
    const next = await access.rotateToken(rotate, callerOf(undefined, "eve"));
    expect(next).toMatchObject({
      principal: "bot",
      isActive: true,
      token: {
        scopes: ["settings:read"],
        limits: ["key:a"],
        comment: "kept",
        notAfter: null,
        createdAt: clock.now,
        createdBy: "eve",
        expiresAt: clock.now + 10 * DAY,
      },
    });
    const find = (text: string) => registry.find(text, () => "")?.until;
    expect([find(old.text), find(next.text)]).toEqual([START + 2 * DAY, START + 11 * DAY]);
    expect((await audited()).at(-1)).toEqual([
      [`bot/${old.token.id}`, `bot/${next.token.id}`],
      {
        scopes: ["settings:read"],
        limits: ["key:a"],
        overlap: "86400s",
        expires: new Date(START + 11 * DAY).toISOString(),
      },
    ]);
    const again = access.rotateToken(rotate, callerOf());
    expect(await refusalOf(again)).toMatchObject(
      precondition("TOKEN_HAS_SUCCESSOR", { successor: next.token.id }),
    );
    clock.now = START + 2 * DAY;
    expect(find(old.text)).toBe(undefined);
    const ended = access.rotateToken(rotate, callerOf());
    expect(await refusalOf(ended)).toMatchObject(
      precondition("TOKEN_TO_ROTATE_ENDED", { id: old.token.id }),
    );
  });

  test("without expiry has a successor without expiry, unless the request sets one", async () => {
    const { access, clock } = await openedAccess();
    const rotated = async (expiresAt?: number) => {
      const { token } = await access.createToken(input({ neverExpires: true }), callerOf());
      const next = { id: token.id, overlap: 0, expiresAt };
      return (await access.rotateToken(next, callerOf())).token.expiresAt;
    };
    clock.now += 5;
    expect(await rotated()).toBe(null);
    expect(await rotated(START + HOUR)).toBe(START + HOUR);
    await expect(rotated(START + 5)).rejects.toMatchObject(invalidField("expire_time"));
  });

  test.each([
    [0, true],
    [30 * DAY, true],
    [-1, false],
    [30 * DAY + 1, false],
    [Number.NaN, false],
  ])("overlaps by %d ms: %s", async (overlap, isValid) => {
    const { access, registry } = await openedAccess();
    const { token } = await access.createToken(input(), callerOf());
    const rotating = access.rotateToken(
      { id: token.id, overlap, expiresAt: undefined },
      callerOf(),
    );
    if (!isValid) return expect(rotating).rejects.toMatchObject(invalidField("overlap"));
    await rotating;
    expect(registry.endOf(token.id)).toBe(START + overlap);
  });

  test("is decided on the stored principal, which another process has changed", async () => {
    const { access, store, registry } = await openedAccess();
    const { token } = await access.createToken(input(), callerOf());
    const [principal] = registry.principals();
    const write = (disabledAt: number | null, name: string) =>
      store.transact(async (trx) => {
        if (principal === undefined) throw new Error("no principal");
        const changed = { ...principal, id: name, name, disabledAt };
        const tokens = [{ ...token, id: `of ${name}`, principalId: name }];
        await trx.write({ principals: [changed], tokens, audit: [] });
      });
    const rotate = (id: string) =>
      access.rotateToken({ id, overlap: 0, expiresAt: undefined }, callerOf());
    await write(null, "new");
    expect((await rotate("of new")).principal).toBe("new");
    await write(null, "off");
    await registry.reread();
    await write(START, "off");
    expect(await refusalOf(rotate("of off"))).toMatchObject({ id: "TOKEN_TO_ROTATE_ENDED" });
  });

  test("needs its rights in the caller, and must exist", async () => {
    const { access } = await openedAccess();
    const { token } = await access.createToken(input(), callerOf());
    const by = (scope: string, id = token.id) =>
      access.rotateToken(
        { id, overlap: undefined, expiresAt: undefined },
        callerOf(createGrant([scope], [])),
      );
    await expect(by("audit:read")).rejects.toMatchObject({ code: Code.PermissionDenied });
    await expect(by("settings:read", "none")).rejects.toMatchObject({ code: Code.NotFound });
    await by("settings:read");
  });
});

describe("a revoked token", () => {
  test("is refused; a second revocation changes nothing", async () => {
    const { access, registry, clock, audited } = await openedAccess();
    const { text, token } = await access.createToken(input(), callerOf());
    clock.now += 5;
    const revoked = { revokedAt: clock.now, revokedBy: "eve" };
    const view = await access.revokeToken(token.id, callerOf(undefined, "eve"));
    expect(view).toMatchObject({ principal: "bot", isActive: false, token: revoked });
    expect(registry.find(text, () => "")).toBe(undefined);
    expect((await audited()).at(-1)).toEqual([[`bot/${token.id}`], {}]);
    clock.now += 5;
    const again = await access.revokeToken(token.id, callerOf());
    expect(again).toMatchObject({ token: revoked });
    expect(await audited()).toHaveLength(2);
    await expect(access.revokeToken("none", callerOf())).rejects.toMatchObject({
      code: Code.NotFound,
      message: expect.sentence('"none"'),
    });
  });
});

describe("the list of tokens", () => {
  test("is ordered newest first, in pages, by principal and by validity", async () => {
    const { access, clock, store } = await openedAccess();
    const ids: string[] = [];
    for (const principal of ["ann", "bot", "ann"]) {
      clock.now += 1;
      const { token } = await access.createToken(input({ principal }), callerOf());
      ids.unshift(token.id);
    }
    const [third = "", second = "", first = ""] = ids;
    await store.recordUses([{ tokenId: second, time: 7, peer: "192.0.2.1" }]);
    const list = async (query: object) => {
      const { items, next } = await access.tokens({ ...FIRST_PAGE, ...query });
      return { ids: items.map(({ token }) => token.id), items, next };
    };
    const whole = await list({});
    expect([whole.ids, whole.next]).toEqual([ids, ""]);
    expect(whole.items.map(({ principal }) => principal)).toEqual(["ann", "bot", "ann"]);
    const uses = whole.items.map(({ use }) => use?.time);
    expect(uses).toEqual([undefined, 7, undefined]);
    const page = await list({ pageSize: 1 });
    expect([page.ids, page.next]).toEqual([[third], `${START + 3}-${third}`]);
    expect((await list({ pageSize: 5, pageToken: page.next })).ids).toEqual([second, first]);
    expect((await list({ principal: "ann" })).ids).toEqual([third, first]);
    expect((await list({ principal: "none" })).ids).toEqual([]);
    await access.revokeToken(third, callerOf());
    expect((await list({ active: true })).ids).toEqual([second, first]);
    expect((await list({ active: true, principal: "ann" })).ids).toEqual([first]);
    expect((await list({})).ids).toEqual(ids);
    for (const pageToken of ["x", `${START}`, `${START}-short`])
      await expect(list({ pageToken })).rejects.toMatchObject(invalidField("page_token"));
  });

  test("orders tokens of the same time by id, across pages", async () => {
    const { access } = await openedAccess();
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1)
      ids.push((await access.createToken(input(), callerOf())).token.id);
    const listed: string[] = [];
    let pageToken = "";
    do {
      const { items, next } = await access.tokens({ ...FIRST_PAGE, pageSize: 1, pageToken });
      listed.push(...items.map(({ token }) => token.id));
      pageToken = next;
    } while (pageToken !== "");
    expect(listed).toEqual(ids.sort((one, other) => (one < other ? -1 : 1)));
  });

  test("is limited to pages of 4 MiB, with comments and limits counted", async () => {
    const { access, store, registry } = await openedAccess();
    const { token } = await access.createToken(input(), callerOf());
    const limits = Array.from({ length: 100 }, () => "key:".padEnd(40, "a"));
    const tokens = Array.from({ length: 1_000 }, (_, at) => ({
      ...token,
      id: `${at}`.padStart(12, "0"),
      limits,
      comment: "c".repeat(200),
    }));
    await store.transact((trx) => trx.write({ tokens, audit: [] }));
    await registry.reread();
    const { items } = await access.tokens(FIRST_PAGE);
    expect(items).toHaveLength(Math.ceil(2 ** 22 / (512 + 200 + 100 * 48)));
  });

  test("marks valid tokens that expire soon", async () => {
    const { access, clock } = await openedAccess();
    const { token } = await access.createToken(input(), callerOf());
    await access.createToken(input({ neverExpires: true }), callerOf());
    const soon = async () => {
      const { items } = await access.tokens(FIRST_PAGE);
      return items.filter(({ expiresSoon }) => expiresSoon).map((item) => item.token.id);
    };
    expect(await soon()).toEqual([]);
    clock.now = START + 80 * DAY;
    expect(await soon()).toEqual([token.id]);
    expect(access.expiringTokens()).toMatchObject([{ principal: "bot", tokenId: token.id }]);
    await access.revokeToken(token.id, callerOf());
    expect(await soon()).toEqual([]);
    expect(access.expiringTokens()).toEqual([]);
  });
});

test("at most 100,000 tokens are kept, also by rotation", async () => {
  let count = 99_999;
  const { access } = await openedAccess(async () => count);
  const { token } = await access.createToken(input(), callerOf());
  count = 100_000;
  const full = { code: Code.ResourceExhausted };
  await expect(access.createToken(input(), callerOf())).rejects.toMatchObject(full);
  const rotate = { id: token.id, overlap: undefined, expiresAt: undefined };
  await expect(access.rotateToken(rotate, callerOf())).rejects.toMatchObject(full);
});
