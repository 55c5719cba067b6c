import { describe, expect, it } from "vitest";
import type { DriverText } from "../../src/drivers/file-format.ts";
import { offered } from "../../src/drivers/offer.ts";

// Parts of a driver file that differ for a family.

const driver: DriverText = {
  name: "Sample",
  additional: [
    { use: "root_folder_path" },
    { name: "size", type: "number", legacy_help: true, help: "Entries of one request." },
    { name: "region", type: "string", families: ["openlist"] },
    { use: "cookie", variants: { alist: { legacy_help: true, default: "a=b" } } },
  ],
  variants: { alist: { order: ["cookie", "root_folder_path", "size"] } },
};

const names = (text: DriverText) => text.additional?.map(({ use, name }) => use ?? name);

describe("a driver file for a family", () => {
  it("has the items in the family's order", () => {
    expect(names(offered(driver, "alist"))).toEqual(["cookie", "root_folder_path", "size"]);
  });

  it.each(["openlist", "all"] as const)("has the items in the file's order: %s", (offer) => {
    expect(names(offered(driver, offer))).toEqual(["root_folder_path", "size", "region", "cookie"]);
  });

  it("has a legacy hint only if the family has one", () => {
    const hint = (offer: "openlist" | "alist") =>
      offered(driver, offer).additional?.find(({ use }) => use === "cookie")?.legacy_help;
    expect([hint("openlist"), hint("alist")]).toEqual([undefined, true]);
  });

  it("keeps the file's order for a family that has no order of its own", () => {
    const { variants: _, ...plain } = driver;
    expect(names(offered(plain, "alist"))).toEqual(["root_folder_path", "size", "cookie"]);
  });
});
