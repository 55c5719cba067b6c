import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { handler } from "./handler.mjs";

const app = new Hono();
app.get("/hello", (context) => context.text("hello"));
app.all("*", (context) => handler(context.req.raw));
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) =>
  process.stdout.write(`http://127.0.0.1:${port}\n`),
);
