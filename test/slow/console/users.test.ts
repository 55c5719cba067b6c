import { beforeAll, describe, expect, test } from "vitest";
import { startStandIn } from "../../sites/stand-in.ts";
import { startedForAll } from "../../started.ts";
import { consoleTest } from "./console.ts";

const console = consoleTest();
const home = startedForAll(startStandIn);
const hut = startedForAll(startStandIn);

beforeAll(async () => {
  await console.addSite(home, "home");
  await console.addSite(hut, "hut");
  home.users.add({ username: "ann", base_path: "/films", permission: 0b1001 });
  home.users.add({ username: "bob", base_path: "/music" });
  hut.users.add({ username: "bob", base_path: "/" });
});

describe("users of a site", () => {
  test("are listed, compared and copied, with a password that is shown once", async () => {
    const page = await console.enter("sites?name=home");
    await page.getByRole("link", { name: "Users", exact: true }).click();
    await page.locator("[data-user=ann]").getByText("/films").waitFor();
    await page.getByLabel("Compare with").selectOption("hut");
    await page.locator("[data-difference=ann]").getByText("missing there").waitFor();
    await page.getByRole("button", { name: "Copy 1 user to hut…" }).click();
    const dialog = page.locator("dialog");
    await dialog.getByText("ann", { exact: true }).first().waitFor();
    expect(hut.users.named("ann")).toBeUndefined();
    await dialog.getByRole("button", { name: "Copy now" }).click();
    const password = (await page.locator("[data-secret]").textContent()) ?? "";
    expect(password).toBe(hut.users.named("ann")?.hidden.password);
    // Existing users are selected by the user.
    expect(hut.users.named("bob")?.base_path).toBe("/");
    await page.getByLabel("Replace bob").check();
    await page.getByRole("button", { name: "Copy 1 user to hut…" }).click();
    await dialog.getByText(/its passkeys there/).waitFor();
    await dialog.getByRole("button", { name: "Copy now" }).click();
    await page.getByText("The users of both sites are equal.").waitFor();
    expect(hut.users.named("bob")?.base_path).toBe("/music");
  });

  test("are those of a site that is chosen, if the address names none", async () => {
    const page = await console.enter("users");
    await page.getByLabel("Site", { exact: true }).selectOption("home");
    await page.locator("[data-user=ann]").getByText("/films").waitFor();
    await expect.poll(() => page.url()).toContain("users?site=home");
  });
});
