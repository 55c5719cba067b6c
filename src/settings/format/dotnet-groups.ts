import { message } from "../../messages/message.ts";
import { fail } from "./expression.ts";

/** Capturing groups of an expression, and references to them, which may precede them. */
export class CapturingGroups {
  #unnamed = 0;
  readonly #names = new Set<string>();
  /** Group 0 is the whole expression. */
  readonly #numbers = new Set<number>([0]);
  readonly #references: (number | string)[] = [];

  addUnnamed(): void {
    this.#unnamed += 1;
  }

  addNamed(name: string): void {
    this.#names.add(name);
  }

  addNumbered(number: number): void {
    this.#numbers.add(number);
  }

  /** Records a reference to a group by its number or name. */
  refer(group: number | string): void {
    this.#references.push(group);
  }

  /** Checks all references. Called when all groups are known. */
  checkReferences(): void {
    const numbers = this.#allNumbers();
    for (const group of this.#references) {
      if (typeof group === "string") {
        if (!this.#names.has(group)) fail(message("EXPRESSION_GROUP_NAME_MISSING"));
      } else if (!numbers.has(group)) fail(message("EXPRESSION_GROUP_NUMBER_MISSING", { group }));
    }
  }

  /** Numbers of all groups: those of named ones follow the others. */
  #allNumbers(): ReadonlySet<number> {
    const all = new Set(this.#numbers);
    for (let number = 1; number <= this.#unnamed; number += 1) all.add(number);
    let next = this.#unnamed + 1;
    for (const _name of this.#names) {
      while (all.has(next)) next += 1;
      all.add(next);
    }
    return all;
  }
}
