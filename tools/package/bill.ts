import { spawnSync } from "node:child_process";

/** Used members of a component or a dependency entry in CycloneDX. */
interface Entry {
  readonly "bom-ref"?: string;
  readonly ref?: string;
  readonly dependsOn?: readonly string[];
}

interface Bill {
  readonly components: readonly Entry[];
  readonly dependencies: readonly Entry[];
}

/**
 * Creates the software bill of materials (CycloneDX, by `npm sbom`) of a distributed package: the
 * installed packages whose code it contains.
 *
 * @param inside packages as `NAME@VERSION`; each has to be installed.
 */
export function softwareBill(root: string, inside: ReadonlySet<string>): Bill {
  const args = ["sbom", "--sbom-format=cyclonedx", "--sbom-type=application"];
  const { stdout } = spawnSync("npm", args, { cwd: root, encoding: "utf8" });
  const all = JSON.parse(stdout) as Bill;
  const known = (ref: string | undefined): boolean => ref !== undefined && inside.has(ref);
  const components = all.components.filter((one) => known(one["bom-ref"]));
  const listed = new Set(components.map((one) => one["bom-ref"]));
  const missing = [...inside].filter((ref) => !listed.has(ref));
  if (missing.length > 0) throw new Error(`npm sbom does not list ${missing.join(", ")}`);
  return {
    ...all,
    components,
    dependencies: all.dependencies
      .filter(({ ref }) => known(ref) || ref?.startsWith("mooring@"))
      .map((one) => ({ ...one, dependsOn: one.dependsOn?.filter(known) ?? [] })),
  };
}
