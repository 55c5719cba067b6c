import { describeProxy } from "./proxy.ts";
import { caddy } from "./recipe.ts";
import { describeServerProxy } from "./server.ts";

describeProxy({ command: "caddy", prepare: (place) => caddy("caddy/Caddyfile", place) });
describeServerProxy({
  command: "caddy",
  front: (place) => caddy("caddy/front.Caddyfile", place),
  beside: (place) => caddy("caddy/beside.Caddyfile", place),
});
