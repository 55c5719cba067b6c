// Writes the generated tables of the pages, such as routes and configuration.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pages, withTables } from "./doc-table.ts";

for (const page of pages) {
  const file = join(import.meta.dirname, "..", page);
  writeFileSync(file, withTables(readFileSync(file, "utf8")));
}
