import PackagePlugin

/// Turns the `.sql` files of a target into one Swift file, before the target is compiled.
///
/// Put it on the target whose folder holds the files: only then does an incremental build notice new ones.
@main struct EmbedSQLPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let target = target as? any SourceModuleTarget else { return [] }
        let scripts = target.sourceFiles(withSuffix: ".sql").map(\.url).sorted { $0.path < $1.path }
        let output = context.pluginWorkDirectoryURL.appending(path: "Scripts.swift")
        return [
            .buildCommand(
                displayName: "Embedding \(scripts.count) SQL scripts",
                executable: try context.tool(named: "EmbedSQL").url,
                arguments: [output.path, target.directoryURL.path] + scripts.map(\.path),
                inputFiles: scripts,
                outputFiles: [output])
        ]
    }
}
