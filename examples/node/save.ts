// Reads the public settings, saves one unless it has changed since, and prints the error of another.
// In your own program the imports are "mooring-client" and "mooring-client/node".
import { createMooring, violationsOf } from "../../src/client/mooring.ts";
import { createNodeTransport } from "../../src/client/node.ts";

const { MOORING_URL = "", MOORING_TOKEN } = process.env;
const mooring = createMooring(createNodeTransport(MOORING_URL, MOORING_TOKEN));
const seen = await mooring.public.getPublicSettings({});
console.log("title:", seen.settings["site_title"]);

const saved = await mooring.settings.saveSettings({
  settings: [{ key: "site_title", value: `Harbour ${process.pid}` }],
  expectedEtag: seen.etag,
});
console.log("saved at revision:", String(saved.revision));

const wrong = { settings: [{ key: "default_page_size", value: "many" }] };
await mooring.settings.saveSettings(wrong).catch((error: unknown) => {
  console.log("refused:", violationsOf(error)[0]?.field);
});
process.exit();
