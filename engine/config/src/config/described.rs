/// Declares an enum of kinds, each with settings that describe it: the one list of its members. A kind is read as the description of its
/// settings, and `usual()` has one of each, with its usual settings.
#[macro_export]
macro_rules! described {
    (
        $(#[$about:meta])*
        pub enum $name:ident: $description:path {
            $($(#[$about_kind:meta])* $kind:ident($settings:ty),)+
        }
    ) => {
        $(#[$about])*
        pub enum $name {
            $($(#[$about_kind])* $kind($settings),)+
        }

        impl $name {
            /// One of each kind with its usual settings, in the order of menus.
            fn usual() -> Vec<Self> {
                vec![$(Self::$kind(<$settings>::default())),+]
            }
        }

        /// The description of a kind.
        impl std::ops::Deref for $name {
            type Target = dyn $description;

            fn deref(&self) -> &Self::Target {
                match self { $(Self::$kind(settings) => settings),+ }
            }
        }

        impl std::ops::DerefMut for $name {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self { $(Self::$kind(settings) => settings),+ }
            }
        }
    };
}
