import { expect, test } from "vitest";
import { startedMooring, testFolder } from "../../process/mooring.ts";

// A failed call needs the class Headers, with which Node.js loads its Fetch API.
const NOTICE = `
  const timer = setInterval(() => {
    if (!process.moduleLoadList.some((name) => name.includes("undici"))) return;
    clearInterval(timer);
    console.log(JSON.stringify({ msg: "the Fetch API is loaded" }));
  }, 20).unref();`;

test("the first call that fails finds the Fetch API loaded", async () => {
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(NOTICE)}` };
  const mooring = await startedMooring({ folder: await testFolder(), env });
  expect(await mooring.logged(({ msg }) => msg === "the Fetch API is loaded")).toBeDefined();
});
