import { describe, expect, test } from "vitest";
import { FLAG } from "../../src/settings/item.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import { defined, definitions, save, tester, testParts } from "../settings/parts.ts";
import { temporaryPaths } from "../store/folder.ts";

const newPath = temporaryPaths();

describe("a new database", () => {
  test("has every setting with a definition at its default, in their order, at revision 0", async () => {
    const { ledger } = await testParts(newPath());
    const snapshot = ledger.snapshot();
    const items = [...snapshot.of(SETTINGS).items()];
    expect(snapshot.revision).toBe(0);
    expect(items.map(({ key, value }) => [key, value])).toEqual(
      definitions.map((definition) => [definition.key, definition.default]),
    );
    expect(items.every(({ revision }) => revision === 0)).toBe(true);
  });
});

describe("a change", () => {
  test("is visible after its acknowledgement, and after a restart", async () => {
    const path = newPath();
    const parts = await testParts(path);
    const { revision } = await save(parts, { site_title: "Harbour" });
    expect(revision).toBe(1);
    expect(parts.settings.get("site_title")).toMatchObject({ value: "Harbour", revision: 1 });
    const again = await testParts(path);
    expect(again.settings.get("site_title")).toEqual(parts.settings.get("site_title"));
    expect(again.ledger.snapshot().revision).toBe(1);
  });

  test("leaves older snapshots unchanged", async () => {
    const parts = await testParts(newPath());
    const before = parts.ledger.snapshot();
    await save(parts, { site_title: "Harbour", mine: "custom" });
    expect(before.get(SETTINGS, "site_title")?.value).not.toBe("Harbour");
    expect(before.get(SETTINGS, "mine")).toBeUndefined();
    expect([...before.of(SETTINGS).items()]).toHaveLength(before.of(SETTINGS).size);
    expect(parts.ledger.snapshot().of(SETTINGS).size).toBe(before.of(SETTINGS).size + 1);
  });

  test("that changes nothing creates no revision", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "Harbour" });
    const snapshot = parts.ledger.snapshot();
    const { revision, commit } = await save(parts, {
      site_title: "Harbour",
      allow_mounted: "true",
    });
    expect({ revision, commit }).toEqual({ revision: 1, commit: undefined });
    expect(await parts.store.listRevisions({ limit: 9 })).toHaveLength(1);
    expect(parts.ledger.snapshot()).toBe(snapshot);
  });

  test("in a dry run is refused like a real one", async () => {
    const parts = await testParts(newPath());
    const inputs = [{ key: "default_page_size", value: "many" }];
    await expect(parts.settings.save(inputs, tester, { dryRun: true })).rejects.toThrow(
      /default_page_size: must be/,
    );
  });
});

describe("changes of another process", () => {
  test("that are read late do not undo later ones", async () => {
    const path = newPath();
    const [held, reading] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isHeld = false;
    const parts = await testParts(path, {
      wrap: (store) => ({
        ...store,
        changedElsewhere: () => store.changedElsewhere(),
        delta: async (revision) => {
          const delta = await store.delta(revision);
          if (!isHeld) return delta;
          reading.resolve();
          await held.promise;
          return delta;
        },
      }),
    });
    const events: number[] = [];
    parts.ledger.listen({
      append: (commits) => events.push(...commits.map(({ revision }) => revision)),
      skipTo: () => undefined,
      reset: () => undefined,
    });
    await save(await testParts(path), { site_title: "Elsewhere" });
    isHeld = true;
    const late = parts.ledger.fresh();
    await reading.promise;
    isHeld = false;
    await save(parts, { site_title: "Here" });
    held.resolve();
    await late;
    expect(parts.ledger.snapshot().revision).toBe(2);
    expect(parts.ledger.snapshot().get(SETTINGS, "site_title")?.value).toBe("Here");
    expect(events).toEqual([1, 2]);
  });
});

describe("settings without a definition", () => {
  describe("with a definition in an earlier version", () => {
    const earlier = [
      defined({ key: "site_title" }),
      defined({ key: "old_open", value: "", flag: FLAG.public } as never),
      defined({ key: "old_password", secret: true }),
    ];
    const later = [defined({ key: "site_title" })];

    /** A database that the earlier version wrote, opened by the later one. */
    const upgraded = async () => {
      const path = newPath();
      const before = await testParts(path, { definitions: earlier });
      await save(before, { old_open: "kept", old_password: "hidden-value" });
      return { path, ...(await testParts(path, { definitions: later })) };
    };

    test("are deprecated and keep their values", async () => {
      const { settings } = await upgraded();
      expect(settings.get("old_open")).toMatchObject({ value: "kept", flag: FLAG.deprecated });
      expect(settings.get("old_password")).toMatchObject({
        value: "hidden-value",
        flag: FLAG.deprecated,
        secret: true,
      });
    });

    test("are not readable without a token", async () => {
      const { publicReads } = await upgraded();
      const open = publicReads.settings(publicReads.snapshot());
      expect(Object.keys(open)).toEqual([]);
    });

    test("stay deprecated and secret when a client saves them, for any input", async () => {
      const parts = await upgraded();
      const flag = FLAG.public;
      await parts.settings.save([{ key: "old_password", value: "another", flag }], tester);
      await parts.settings.save([{ key: "old_open", value: "new", flag }], tester);
      const again = await testParts(parts.path, { definitions: later });
      for (const { settings, publicReads } of [parts, again]) {
        expect(settings.get("old_password")).toMatchObject({
          value: "another",
          flag: FLAG.deprecated,
          secret: true,
        });
        expect(settings.get("old_open")).toMatchObject({ value: "new", flag: FLAG.deprecated });
        expect(publicReads.settings(publicReads.snapshot())).toEqual({});
      }
      const changes = await again.store.changesBetween(0, 100);
      expect(JSON.stringify(changes)).not.toMatch(/hidden-value|another/);
    });

    test("can be deleted, and are restored when the earlier version runs again", async () => {
      const parts = await upgraded();
      await parts.settings.save([{ key: "old_password", value: "another" }], tester);
      await parts.settings.delete("old_open", tester);
      expect(() => parts.settings.get("old_open")).toThrow(/there is no setting "old_open"/);
      const back = await testParts(parts.path, { definitions: earlier });
      expect(back.settings.get("old_open")).toMatchObject({ value: "", flag: FLAG.public });
      expect(back.settings.get("old_password")).toMatchObject({
        value: "another",
        flag: FLAG.private,
        secret: true,
      });
    });
  });
});
