import { describeProxy } from "./proxy.ts";
import { nginx } from "./recipe.ts";
import { describeServerProxy } from "./server.ts";

describeProxy({ command: "nginx", prepare: (place) => nginx("nginx/mooring.conf", place) });
describeServerProxy({
  command: "nginx",
  front: (place) => nginx("nginx/front.conf", place),
  beside: (place) => nginx("nginx/beside.conf", place),
});
