import { expect, test } from "vitest";
import { createDeclared } from "../../src/state-file/declared.ts";

const of = (part: string, ...names: string[]) => new Map([[part, names]]);

test("records are declared during their save already, and the earlier ones until its end", async () => {
  const declared = createDeclared();
  await declared.replace("the file", of("settings", "a"), async () => undefined);
  const by = (name: string) => declared.by("settings", name);
  await declared.replace("the file", of("settings", "b"), async () => {
    expect([by("a"), by("b"), declared.by("mounts", "b")]).toEqual([
      "the file",
      "the file",
      undefined,
    ]);
  });
  expect([by("a"), by("b")]).toEqual([undefined, "the file"]);
});

test("a save that fails leaves the declared records as they were", async () => {
  const declared = createDeclared();
  await declared.replace("the file", of("mounts", "a"), async () => undefined);
  const failing = declared.replace("the file", of("sites", "b"), () =>
    Promise.reject(new Error("the database is away")),
  );
  await expect(failing).rejects.toThrow("away");
  expect([declared.by("mounts", "a"), declared.by("sites", "b")]).toEqual(["the file", undefined]);
});

test("two files declare different parts", async () => {
  const declared = createDeclared();
  await declared.replace("one", of("settings", "a"), async () => undefined);
  await declared.replace("two", of("mounts", "a"), async () => undefined);
  expect([declared.by("settings", "a"), declared.by("mounts", "a")]).toEqual(["one", "two"]);
});
