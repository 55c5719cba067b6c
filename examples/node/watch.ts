// Watches the settings; after a broken stream it resumes without missing a change.
// In your own program the imports are "mooring-client" and "mooring-client/node".
import { createMooring, watchSettings } from "../../src/client/mooring.ts";
import { createNodeTransport } from "../../src/client/node.ts";

const { MOORING_URL = "", MOORING_TOKEN } = process.env;
const mooring = createMooring(createNodeTransport(MOORING_URL, MOORING_TOKEN));
for await (const { revision, event } of watchSettings(mooring))
  if (event.case === "change")
    for (const { key } of event.value.changes)
      console.log("changed at revision:", String(revision), key);
