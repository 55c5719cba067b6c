// The used part of the package's types.
declare module "marked" {
  export interface Renderer {
    readonly parser: { parseInline(tokens: unknown): string };
  }
  export namespace Tokens {
    interface Heading {
      readonly tokens: unknown;
      readonly depth: number;
    }
    interface Link {
      readonly href: string;
      readonly tokens: unknown;
    }
    interface Image {
      readonly href: string;
      readonly text: string;
    }
  }
  export class Marked {
    constructor(options: { readonly gfm: boolean });
    use(extension: {
      readonly renderer: {
        heading(this: Renderer, token: Tokens.Heading): string;
        link(this: Renderer, token: Tokens.Link): string;
        image(this: Renderer, token: Tokens.Image): string;
      };
    }): void;
    parse(text: string): string;
  }
}
