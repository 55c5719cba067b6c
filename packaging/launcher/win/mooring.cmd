@rem Runs Mooring on the Node beside it. The young generation of V8 has 2 MB (src/app/memory-settings.ts).
@"%~dp0bin\node.exe" --min-semi-space-size=2 "%~dp0lib\src\main.js" %*
