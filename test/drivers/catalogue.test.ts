import { describe, expect, it } from "vitest";
import { createCatalogue, diffCatalogues } from "../../src/drivers/catalogue.ts";
import { builtIn, driverOf } from "./sample.ts";

const named = (...names: string[]) => names.map((name) => driverOf({ name }));

describe("the catalogue", () => {
  it("has names in code point order, and drivers in the same order", () => {
    // In UTF-16 units the mathematical letter would precede the ligature.
    const catalogue = createCatalogue({ definitions: named("b", "𝐀", "ﬀ", "B", "115 a", "a b") });
    expect(catalogue.names).toEqual(["115 a", "B", "a b", "b", "ﬀ", "𝐀"]);
    expect([...catalogue.drivers.keys()]).toEqual(catalogue.names);
    expect(Object.keys(Object.fromEntries(catalogue.drivers))).toEqual(catalogue.names);
  });

  it("returns the same object each time, for the exact name only", () => {
    const catalogue = createCatalogue({ definitions: named("Local") });
    expect(catalogue.get("Local")).toBe(catalogue.get("Local"));
    expect(catalogue.get("local")).toBeUndefined();
    expect(catalogue.get("constructor")).toBeUndefined();
  });

  it("has the later of two drivers with the same name", () => {
    const [old] = named("Local");
    const own = driverOf({ name: "Local", config: { no_upload: true } });
    const catalogue = createCatalogue({ definitions: [...(old ? [old] : []), own] });
    expect(catalogue.get("Local")).toBe(own);
    expect(catalogue.names).toEqual(["Local"]);
  });

  it("has a revision that depends on the content alone", () => {
    const revision = (...drivers: object[]) =>
      createCatalogue({ definitions: drivers.map((driver) => driverOf(driver)) }).revision;
    expect(revision({ name: "A" }, { name: "B" })).toBe(revision({ name: "B" }, { name: "A" }));
    expect(revision({ name: "A" })).toMatch(/^[0-9a-f]{16}$/);
    const changes = [
      { name: "B" },
      { name: "A", config: { no_cache: true } },
      { name: "A", additional: [{ use: "cookie" }] },
      { name: "A", additional: [{ use: "cookie", help: "Other." }] },
    ];
    expect(new Set([{ name: "A" }, ...changes].map((driver) => revision(driver))).size).toBe(5);
  });

  it("offers only enabled drivers, in the same order", () => {
    const definitions = named("A", "B", "C");
    expect(createCatalogue({ definitions, enabled: ["C", "A", "C"] }).names).toEqual(["A", "C"]);
  });

  it("refuses a list of enabled drivers with an unknown name, and suggests the nearest", () => {
    const create = (...enabled: string[]) =>
      createCatalogue({ ...builtIn, definitions: builtIn.drivers, enabled });
    expect(() => create("S3", "webdav", "Nothing of the kind")).toThrow(
      'there is no driver "webdav". Did you mean "WebDav"? there is no driver "Nothing of the kind".',
    );
    expect(() => create()).toThrow("the list of enabled drivers is empty");
  });
});

describe("the difference of two catalogues", () => {
  it("lists added, changed and removed drivers, and no others", () => {
    const before = createCatalogue({ definitions: named("A", "B", "C") });
    const after = createCatalogue({
      definitions: [...named("A", "D"), driverOf({ name: "C", config: { no_upload: true } })],
    });
    expect(diffCatalogues(before, after)).toEqual({ added: ["D"], changed: ["C"], removed: ["B"] });
    expect(diffCatalogues(after, after)).toEqual({ added: [], changed: [], removed: [] });
  });
});
