/** A command of a page with its shown output. */
export interface Step {
  readonly command: string;
  readonly output: string;
}

/** A section of a page, from its heading to the next one. */
export function sectionOf(page: string, title: string): string {
  const start = page.indexOf(`\n${title}\n`);
  const end = page.indexOf("\n## ", start + 1);
  return page.slice(start, end < 0 ? undefined : end);
}

/** The commands of a section in order. A backslash at the end of a line continues a command. */
export function stepsOf(section: string): Step[] {
  return [...section.matchAll(/```console\n([\s\S]*?)```/g)]
    .flatMap(([, block = ""]) => block.split(/^\$ /m).slice(1))
    .map((text) => {
      const lines = text.split("\n");
      const last = lines.findIndex((line) => !line.endsWith("\\"));
      return {
        command: lines.slice(0, last + 1).join("\n"),
        output: lines
          .slice(last + 1)
          .join("\n")
          .trim(),
      };
    });
}

/** `…` matches anything in a line; the distance of columns is ignored. */
export function patternOf(output: string): RegExp {
  const lines = output.split("\n").map((line) =>
    line
      .split("…")
      .map((part) => part.trim().split(/\s+/).map(escaped).join("\\s+"))
      .join(".*"),
  );
  return new RegExp(`^${lines.join("\\s*\\n\\s*")}\\s*$`, "m");
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
