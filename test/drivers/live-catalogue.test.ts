import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type CatalogueChange,
  type LiveCatalogue,
  openCatalogue,
} from "../../src/drivers/driver.ts";
import { temporaryFolder } from "../temporary.ts";
import { builtIn } from "./sample.ts";

type Event = { error: string } | { notice: string } | { change: CatalogueChange["difference"] };

let parent: string;
let folder: string;
let live: LiveCatalogue | undefined;
let events: Event[];
let wake: () => void;

beforeEach(() => {
  parent = temporaryFolder();
  folder = join(parent, "drivers");
  mkdirSync(folder);
  events = [];
  wake = () => {};
});
afterEach(() => {
  live?.close();
  live = undefined;
});

/** By rename, so that a reader never sees part of a file. */
function put(name: string, content: object | string, directory = folder): void {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  writeFileSync(join(directory, `${name}.new`), text);
  renameSync(join(directory, `${name}.new`), join(directory, name));
}

async function open(enabled?: string[], directory: string | undefined = folder) {
  const record = (event: Event) => {
    events.push(event);
    wake();
  };
  live = await openCatalogue({
    builtIn: () => builtIn,
    directory,
    enabled,
    onError: (error) => record({ error: error.message }),
    onNotice: (notice) => record({ notice }),
    times: { interval: 50, quiet: 20 },
  });
  live.subscribe(({ difference }) => record({ change: difference }));
  return live;
}

/** The next event; the test's time limit ends the wait. */
async function next(): Promise<Event | undefined> {
  while (events.length === 0) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  return events.shift();
}

const unchanged = { added: [], changed: [], removed: [] };

describe("the catalogue of a deployment", () => {
  it("adds the folder's drivers and replaces built-in ones by name", async () => {
    put("nas.json", { name: "House NAS", additional: [{ use: "password" }] });
    put("s3.json", { name: "S3", config: { no_upload: true } });
    const catalogue = (await open()).current();
    expect(catalogue.names).toHaveLength(builtIn.drivers.length + 1);
    expect(catalogue.get("House NAS")?.additional[0]?.name).toBe("password");
    expect(catalogue.get("S3")?.config.noUpload).toBe(true);
    expect(catalogue.get("Local")).toBe(builtIn.drivers.find((d) => d.config.name === "Local"));
  });

  it("is the built-in one when there is no folder", async () => {
    const opened = await openCatalogue({ builtIn: () => builtIn, onError: () => {} });
    expect(opened.current().names).toHaveLength(builtIn.drivers.length);
    opened.close();
  });

  it("fails to start with an invalid file, an unknown enabled name or a missing folder", async () => {
    await expect(open(["Locale"])).rejects.toThrow('no driver "Locale". Did you mean "Local"');
    await expect(open(undefined, join(parent, "none"))).rejects.toThrow("there is no such folder");
    put("a.json", '{"name": "A",\n "conifg": {}}');
    await expect(open()).rejects.toThrow(/a\.json:2:2: conifg is not a member.*"config"/);
    put("a.json", { name: "A" });
    put("b.json", { name: "A" });
    await expect(open()).rejects.toThrow(/b\.json: names the driver "A" like .*a\.json/);
  });

  it("can be restricted to enabled names, with those of the folder", async () => {
    put("nas.json", { name: "House NAS" });
    const catalogue = (await open(["S3", "House NAS"])).current();
    expect(catalogue.names).toEqual(["House NAS", "S3"]);
  });
});

describe("a change of the driver folder", () => {
  it("replaces the whole catalogue and reports the differences", async () => {
    const catalogue = await open();
    const before = catalogue.current();
    put("nas.json", { name: "House NAS" });
    expect(await next()).toEqual({ change: { ...unchanged, added: ["House NAS"] } });
    const after = catalogue.current();
    expect(after.revision).not.toBe(before.revision);
    expect(before.get("House NAS")).toBeUndefined();
    put("nas.json", { name: "House NAS", config: { no_cache: true } });
    expect(await next()).toEqual({ change: { ...unchanged, changed: ["House NAS"] } });
    put("s3.json", { name: "S3" });
    expect(await next()).toEqual({ change: { ...unchanged, changed: ["S3"] } });
    unlinkSync(join(folder, "nas.json"));
    expect(await next()).toEqual({ change: { ...unchanged, removed: ["House NAS"] } });
  });

  it("with an invalid file changes nothing and is reported once, with file, position and reason", async () => {
    put("nas.json", { name: "House NAS" });
    const catalogue = await open();
    const before = catalogue.current();
    put("nas.json", '{"name": "House NAS",\n  "config": {"no_cache": 1}}');
    const error = `${join(folder, "nas.json")}:2:26: config.no_cache must be true or false, not a number`;
    expect(await next()).toEqual({ error });
    expect(catalogue.current()).toBe(before);
    // A valid file beside it is not loaded alone.
    put("other.json", { name: "Other" });
    expect(await next()).toEqual({ error });
    expect(catalogue.current()).toBe(before);
    put("nas.json", { name: "House NAS", config: { no_cache: true } });
    expect(await next()).toEqual({
      notice: `driver folder ${folder}: the files are valid again and in use`,
    });
    expect(await next()).toEqual({
      change: { added: ["Other"], changed: ["House NAS"], removed: [] },
    });
  });

  it("that removes an enabled driver changes nothing and is reported", async () => {
    put("nas.json", { name: "House NAS" });
    const catalogue = await open(["S3", "House NAS"]);
    unlinkSync(join(folder, "nas.json"));
    expect(await next()).toEqual({ error: expect.stringContaining('no driver "House NAS"') });
    expect(catalogue.current().names).toEqual(["House NAS", "S3"]);
  });

  it("by a swap of ..data is detected, as Kubernetes updates a ConfigMap", async () => {
    const version = (name: string, driver: object) => {
      mkdirSync(join(folder, name));
      put("nas.json", driver, join(folder, name));
    };
    version("..1", { name: "House NAS" });
    symlinkSync("..1", join(folder, "..data"));
    symlinkSync("..data/nas.json", join(folder, "nas.json"));
    await open();
    version("..2", { name: "House NAS", config: { no_upload: true } });
    symlinkSync("..2", join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    expect(await next()).toEqual({ change: { ...unchanged, changed: ["House NAS"] } });
  });

  it("that empties it is reported, and leaves the built-in drivers", async () => {
    put("nas.json", { name: "House NAS" });
    const catalogue = await open();
    unlinkSync(join(folder, "nas.json"));
    expect(await next()).toEqual({
      notice: `driver folder ${folder}: the folder has no driver files; only built-in drivers are offered`,
    });
    expect(await next()).toEqual({ change: { ...unchanged, removed: ["House NAS"] } });
    expect(catalogue.current().names).toHaveLength(builtIn.drivers.length);
  });

  it("that removes the folder is an error; a restored folder, also a new one, is watched again", async () => {
    put("nas.json", { name: "House NAS" });
    const catalogue = await open();
    renameSync(folder, join(parent, "old"));
    expect(await next()).toEqual({ error: `driver folder ${folder}: there is no such folder` });
    expect(catalogue.current().names).toHaveLength(builtIn.drivers.length + 1);
    mkdirSync(join(parent, "new"));
    put("nas.json", { name: "House NAS" }, join(parent, "new"));
    symlinkSync("new", folder);
    expect(await next()).toEqual({
      notice: `driver folder ${folder}: the files are valid again and in use`,
    });
    put("more.json", { name: "More" });
    expect(await next()).toEqual({ change: { ...unchanged, added: ["More"] } });
  });

  it("does not notify former subscribers, nor any after close", async () => {
    const catalogue = await open();
    const changes: string[][] = [];
    const leave = catalogue.subscribe(({ difference }) => changes.push([...difference.added]));
    put("a.json", { name: "A" });
    expect(await next()).toMatchObject({ change: { added: ["A"] } });
    leave();
    put("b.json", { name: "B" });
    expect(await next()).toMatchObject({ change: { added: ["B"] } });
    expect(changes).toEqual([["A"]]);
    const last = catalogue.current();
    catalogue.close();
    put("c.json", { name: "C" });
    // Another catalogue on the same folder shows that the change was detectable.
    const witness = await openCatalogue({
      builtIn: () => builtIn,
      directory: folder,
      onError: () => {},
    });
    expect(witness.current().names).toContain("C");
    witness.close();
    expect(catalogue.current()).toBe(last);
    expect(events).toEqual([]);
  });
});
