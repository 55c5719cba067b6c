import { beforeEach, describe, expect, test } from "vitest";
import { cli, service, useService } from "./service.ts";

useService();
beforeEach(async () => {
  await service.cli(["unset", "site_title", "announcement", "aria2_secret"]);
});

const newest = (): Promise<number> => service.newest();

describe("history, diff and rollback", () => {
  test("history lists revisions, newest first, and can be filtered", async () => {
    await cli(["set", "site_title=One"]);
    await cli(["set", "announcement=Two"]);
    const last = await newest();
    const { out } = await cli(["history", "-n", "2"]);
    const [head, first, second] = out.split("\n");
    expect(head).toMatch(/^REVISION +TIME +ACTOR +BY +KEYS/);
    expect(first).toMatch(new RegExp(`^${last} .*admin +grpc SaveSettings +announcement`));
    expect(second).toMatch(new RegExp(`^${last - 1} .*site_title`));
    const narrowed = await cli(["history", "--key", "site_title", "-n", "1", "--json"]);
    expect(JSON.parse(narrowed.out).revisions[0].revision).toBe(String(last - 1));
    expect((await cli(["history", "--actor", "nobody"])).err).toContain("no matching change");
    expect((await cli(["history", "--since", "1h", "--until", "2100-01-01"])).out).toContain(
      "admin",
    );
  });

  test("history reads as many pages as needed", async () => {
    const all = JSON.parse((await cli(["history", "-n", "100000", "--json"])).out);
    expect(all.revisions.length).toBe(await newest());
    expect(all.next_page_token).toBe("");
  });

  test("history REVISION shows old and new values", async () => {
    await cli(["set", "site_title=Seen", "aria2_secret=hush"]);
    const { out } = await cli(["history", String(await newest())]);
    expect(out).toMatch(/site_title +OpenList +Seen/);
    expect(out).toContain("by admin (grpc SaveSettings from 127.0.0.1");
    expect(out).not.toContain("hush");
    expect((await cli(["history", "999999"])).code).toBe(3);
    expect((await cli(["history", "1", "--key", "x"])).code).toBe(2);
  });

  test("diff compares two revisions, or the newest with one", async () => {
    const from = String(await newest());
    await cli(["set", "site_title=A"]);
    const middle = String(await newest());
    await cli(["set", "site_title=B"]);
    expect((await cli(["diff", from, middle])).out).toMatch(/site_title +OpenList +A/);
    expect((await cli(["diff", from])).out).toMatch(/site_title +OpenList +B/);
    expect((await cli(["diff", middle, middle])).err).toContain("nothing differs");
    const { changes } = JSON.parse((await cli(["diff", from, "--json"])).out);
    expect(changes).toEqual([
      {
        key: "site_title",
        kind: "CHANGE_KIND_CHANGED",
        old_value: "OpenList",
        new_value: "B",
        secret: false,
        items: [],
      },
    ]);
  });

  test("rollback restores earlier values, and lists those that it cannot restore", async () => {
    const before = String(await newest());
    await cli(["set", "site_title=Wrong", "aria2_secret=hush"]);
    const { code, out, err } = await cli(["rollback", before]);
    expect(code).toBe(4);
    expect(out).toMatch(/site_title +Wrong +OpenList/);
    expect(out).toContain("skipped aria2_secret: ");
    expect(err).toContain("not restored, or not as a whole: aria2_secret (--accept-loss");
    expect((await cli(["get", "site_title"])).out).toBe("OpenList\n");
  });

  test("rollback --dry-run changes nothing", async () => {
    const before = String(await newest());
    await cli(["set", "site_title=Stays"]);
    const { out } = await cli(["rollback", before, "site_title", "--dry-run"]);
    expect(out).toContain("dry run: 1 setting would change");
    expect((await cli(["get", "site_title"])).out).toBe("Stays\n");
  });

  test("rollback asks for confirmation on a terminal", async () => {
    const before = String(await newest());
    await cli(["set", "site_title=Wrong"]);
    const refused = await cli(["rollback", before], { terminal: 80, answers: ["n"] });
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("Restore 1 setting to revision");
    expect((await cli(["get", "site_title"])).out).toBe("Wrong\n");
    const agreed = await cli(["rollback", before], { terminal: 80, answers: ["y"] });
    expect(agreed).toMatchObject({
      code: 0,
      out: expect.stringContaining("restored 1 setting"),
    });
    expect((await cli(["get", "site_title"])).out).toBe("OpenList\n");
  });

  test("rollback asks for no confirmation with --yes, or when nothing changes", async () => {
    const before = String(await newest());
    expect((await cli(["rollback", before], { terminal: 80 })).out).toContain("nothing to restore");
    await cli(["set", "site_title=Wrong"]);
    expect((await cli(["rollback", before, "--yes"], { terminal: 80 })).code).toBe(0);
  });

  test("rollback applies only the changes shown: a change during the prompt is a conflict", async () => {
    const before = String(await newest());
    await cli(["set", "site_title=Wrong"]);
    const ended = await cli(["rollback", before], {
      terminal: 80,
      answers: [
        async () => {
          await cli(["set", "announcement=meanwhile"]);
          return "y";
        },
      ],
    });
    expect(ended.code).toBe(7);
    expect(ended.err).toContain("announcement");
    expect((await cli(["get", "site_title"])).out).toBe("Wrong\n");
  });
});
