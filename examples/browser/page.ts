// The examples save and watch on a page. On your own page the imports are "mooring-client" and "mooring-client/web".
import { createMooring, violationsOf, watchSettings } from "../../src/client/mooring.ts";
import { createWebTransport } from "../../src/client/web.ts";

const parameters = new URLSearchParams(location.hash.slice(1));
const mooring = createMooring(
  createWebTransport(parameters.get("url") ?? "", parameters.get("token") ?? ""),
);
const print = (...words: unknown[]) => document.body.append(`${words.join(" ")}\n`);

const seen = await mooring.public.getPublicSettings({});
print("title:", seen.settings["site_title"]);

const saved = await mooring.settings.saveSettings({
  settings: [{ key: "site_title", value: `Harbour ${Date.now()}` }],
  expectedEtag: seen.etag,
});
print("saved at revision:", saved.revision);

const wrong = { settings: [{ key: "default_page_size", value: "many" }] };
await mooring.settings.saveSettings(wrong).catch((error: unknown) => {
  print("refused:", violationsOf(error)[0]?.field);
});

for await (const { revision, event } of watchSettings(mooring, { afterEtag: seen.etag })) {
  if (event.case !== "change") continue;
  for (const { key } of event.value.changes) print("changed at revision:", revision, key);
  break;
}
